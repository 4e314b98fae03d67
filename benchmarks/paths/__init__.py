"""A path of 50 sizes on 500 x 5000 data, against other software's paths.

Ours has a certificate at every size, which is verified here. The objective is evaluated by us for
all. And what one point of the path costs beside a cold `solve` at the same k.
"""
