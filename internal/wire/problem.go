package wire

// Problem is every refusal and every failure of the API: RFC 9457 with a remedy.
type Problem struct {
	Title     string       `json:"title" doc:"The status in words."`
	Status    int          `json:"status" doc:"The HTTP status code."`
	Kind      string       `json:"kind" enum:"invalid,unauthenticated,forbidden,not_found,conflict,too_large,throttled,unavailable,internal" doc:"What the reader can do about it; clients branch on this."`
	Detail    string       `json:"detail" doc:"What is wrong, in one sentence."`
	Hint      string       `json:"hint,omitempty" doc:"What to do next."`
	Fields    []FieldError `json:"fields,omitempty" nullable:"false" doc:"Every fault of the input, each with its place."`
	RequestID string       `json:"request_id,omitempty" doc:"Finds this request in the server's log."`
}

// FieldError names one fault of an input and its place.
type FieldError struct {
	File    string `json:"file,omitempty" doc:"The file, when the input was one."`
	Path    string `json:"path,omitempty" doc:"The field: components.web.replicas, or body.name."`
	Line    int    `json:"line,omitempty" doc:"Counts from 1; absent when the input has no lines."`
	Column  int    `json:"column,omitempty" doc:"Counts from 1."`
	Message string `json:"message" doc:"What is wrong there."`
	Hint    string `json:"hint,omitempty" doc:"What to write instead."`
}
