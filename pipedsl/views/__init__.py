"""Pictures of what happened, from plain records: for notebooks, files and terminals."""

from pipedsl.views.listing import Listing, annotate

__all__ = ["Listing", "annotate"]
