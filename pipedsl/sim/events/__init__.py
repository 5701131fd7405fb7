"""What a run does to memory and between waves, as events for the checker."""
