"""A CDK app with one stack of ragdrop: a program for the environment that has the construct.

python cdk_app.py ARTIFACT OUTPUT [NAME=VALUE ...]
"""

import sys

import aws_cdk
from ragdrop_cdk import Ragdrop

artifact, output, *values = sys.argv[1:]
app = aws_cdk.App(outdir=output, analytics_reporting=False)
stack = aws_cdk.Stack(app, "ragdrop-cdk")
Ragdrop(stack, "Ragdrop", artifact=artifact, parameters=dict(each.split("=", 1) for each in values))
app.synth()
