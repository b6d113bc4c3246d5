package recipe

import (
	"encoding/json"
	"strconv"
)

// Until says when an epoch of a merge ends: "longest", "shortest", or [UntilSamples].
type Until string

// UntilWords are the words that an [Until] may be.
var UntilWords = []string{"longest", "shortest"}

// UntilSamples ends an epoch when so many samples have come of it, on all ranks together.
func UntilSamples(n int64) Until { return Until(strconv.FormatInt(n, 10)) }

// Samples is the number of samples, if it is one.
func (u Until) Samples() (n int64, ok bool) {
	n, err := strconv.ParseInt(string(u), 10, 64)
	return n, err == nil
}

// Takes implements [Taker].
func (*Until) Takes() string { return `"longest", "shortest", or a whole number` }

// JSONSchema implements [Schemer].
func (Until) JSONSchema() map[string]any {
	return map[string]any{"anyOf": []any{map[string]any{"enum": UntilWords}, map[string]any{"type": "integer", "minimum": 1}}}
}

// MarshalJSON writes a word or a number.
func (u Until) MarshalJSON() ([]byte, error) {
	if n, ok := u.Samples(); ok {
		return strconv.AppendInt(nil, n, 10), nil
	}
	return json.Marshal(string(u))
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (u *Until) UnmarshalJSON(b []byte) error {
	var n int64
	if json.Unmarshal(b, &n) == nil {
		*u = UntilSamples(n)
		return nil
	}
	var word string
	err := json.Unmarshal(b, &word)
	*u = Until(word)
	return err
}
