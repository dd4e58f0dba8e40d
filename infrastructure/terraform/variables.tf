variable "artifact" {
  description = "Folder that `make artifact` wrote."
  type        = string
}

variable "artifact_bucket" {
  description = "Bucket, in the region of the stack, that takes the artifact's files. CloudFormation reads them there."
  type        = string
}

variable "name" {
  description = "Name of the stack: lower case, at most 25 characters, as the document bucket is named after it."
  type        = string
  default     = "ragdrop"

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{0,24}$", var.name))
    error_message = "The name must be lower case and have at most 25 characters."
  }
}

variable "parameters" {
  description = "Parameters of template.yaml by name; docs/deploy.md lists them. Each has a default."
  type        = map(string)
  default     = {}
}

variable "tags" {
  description = "Tags of the stack and of all that it makes."
  type        = map(string)
  default     = {}
}
