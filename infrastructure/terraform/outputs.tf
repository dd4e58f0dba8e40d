# The outputs of template.yaml, by the same names; a test compares them.

output "ApiUrl" {
  value = aws_cloudformation_stack.ragdrop.outputs["ApiUrl"]
}

output "PageUrl" {
  value = aws_cloudformation_stack.ragdrop.outputs["PageUrl"]
}

output "ApiId" {
  value = aws_cloudformation_stack.ragdrop.outputs["ApiId"]
}

output "IndexUrl" {
  value = aws_cloudformation_stack.ragdrop.outputs["IndexUrl"]
}

output "DocumentBucket" {
  value = aws_cloudformation_stack.ragdrop.outputs["DocumentBucket"]
}

output "StateBucket" {
  value = aws_cloudformation_stack.ragdrop.outputs["StateBucket"]
}

output "RegistryTable" {
  value = aws_cloudformation_stack.ragdrop.outputs["RegistryTable"]
}

output "VisitedTable" {
  value = aws_cloudformation_stack.ragdrop.outputs["VisitedTable"]
}

output "TelemetryTable" {
  value = aws_cloudformation_stack.ragdrop.outputs["TelemetryTable"]
}

output "QueueUrl" {
  value = aws_cloudformation_stack.ragdrop.outputs["QueueUrl"]
}

output "DeadLetterQueueUrl" {
  value = aws_cloudformation_stack.ragdrop.outputs["DeadLetterQueueUrl"]
}

output "IngestFunctionName" {
  value = aws_cloudformation_stack.ragdrop.outputs["IngestFunctionName"]
}

output "QueryFunctionName" {
  value = aws_cloudformation_stack.ragdrop.outputs["QueryFunctionName"]
}

output "GenerateFunctionName" {
  value = aws_cloudformation_stack.ragdrop.outputs["GenerateFunctionName"]
}

output "McpFunctionName" {
  value = aws_cloudformation_stack.ragdrop.outputs["McpFunctionName"]
}

output "SweepFunctionName" {
  value = aws_cloudformation_stack.ragdrop.outputs["SweepFunctionName"]
}

output "ModelsFunctionName" {
  value = lookup(aws_cloudformation_stack.ragdrop.outputs, "ModelsFunctionName", null)
}
