"""A study of the attention zoo: what does attention to a window leave out?"""
