# ragdrop from its artifact (`make artifact`): the archives in a bucket of yours, and the stack that uses them.
# The template stays the one description of what is deployed: docs/adr/0040-one-template-for-every-tool.md.

terraform {
  required_version = ">= 1.5"
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 5.0, < 7.0"
    }
  }
}

locals {
  artifact = jsondecode(file("${var.artifact}/artifact.json"))
  # Functions are called by their versions, so a changed parameter must make new ones, as changed code does.
  release  = substr(sha256("${local.artifact.template.sha256}${jsonencode(var.parameters)}"), 0, 10)
  template = replace(file("${var.artifact}/${local.artifact.template.file}"), local.artifact.release, local.release)
}

resource "aws_s3_object" "template" {
  bucket  = var.artifact_bucket
  key     = "ragdrop/template-${local.release}.json"
  content = local.template
}

resource "aws_s3_object" "artifact" {
  for_each = local.artifact.files

  bucket      = var.artifact_bucket
  key         = each.value.key
  source      = "${var.artifact}/${each.value.file}"
  source_hash = each.value.sha256
}

data "aws_region" "current" {}

data "aws_partition" "current" {}

resource "aws_cloudformation_stack" "ragdrop" {
  name         = var.name
  template_url = "https://s3.${data.aws_region.current.name}.${data.aws_partition.current.dns_suffix}/${var.artifact_bucket}/${aws_s3_object.template.key}"
  parameters   = merge(var.parameters, { ArtifactBucket = var.artifact_bucket })
  capabilities = ["CAPABILITY_IAM"]
  tags         = var.tags

  depends_on = [aws_s3_object.artifact]
}
