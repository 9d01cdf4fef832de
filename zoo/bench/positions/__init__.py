"""The study `positions`: what do position vectors look like once they are trained?"""
