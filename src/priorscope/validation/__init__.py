"""Claims of our own about the forecast and the profile, in the same form as those of papers."""
