"""Pictures of what happened, from plain records: for notebooks, files and terminals."""
