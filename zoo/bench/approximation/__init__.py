"""The study `approximation`: how near do efficient attentions come to softmax?"""
