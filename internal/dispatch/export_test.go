package dispatch

// The branches of a receipt, for the schema that is made of them.
type (
	Success = success
	Refusal = reject
)
