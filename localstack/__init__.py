"""The laptop: everything that stands in for AWS and for paid models while ragdrop runs on one machine."""
