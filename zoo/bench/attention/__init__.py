"""The study `attention`: which efficient attention, for what?"""
