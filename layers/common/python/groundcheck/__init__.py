"""Is a sentence supported by these passages?"""
