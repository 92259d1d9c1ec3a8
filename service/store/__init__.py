"""Named, conditional reads and writes on DynamoDB, S3 and SQS. `table.py` alone sees the client's errors."""
