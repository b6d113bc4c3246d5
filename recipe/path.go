package recipe

import (
	"errors"
	"strings"

	"github.com/headrace/headrace/internal/rawjson"
)

// Path is a file's name or a pattern: bytes, mostly UTF-8. In JSON a byte that is not
// becomes a lone surrogate from \udc80 to \udcff, which is what Python's surrogateescape
// makes of it (docs/protocol.md).
type Path string

// MarshalJSON writes p with escapes for what is not UTF-8.
func (p Path) MarshalJSON() ([]byte, error) { return rawjson.AppendQuote(nil, string(p)), nil }

// UnmarshalJSON reads what MarshalJSON wrote, and what Python's json.dumps writes.
func (p *Path) UnmarshalJSON(b []byte) error {
	if string(b) == "null" { // as encoding/json wants it: null changes nothing
		return nil
	}
	s, err := rawjson.UnquoteBytes(b)
	*p = Path(s)
	return err
}

// JSONSchema implements [Schemer].
func (Path) JSONSchema() map[string]any { return map[string]any{"type": "string"} }

// Check returns what no path of a file can be.
func (p Path) Check() error {
	switch {
	case p == "":
		return errors.New("is empty")
	case strings.IndexByte(string(p), 0) >= 0:
		return errors.New("contains a zero byte")
	}
	return nil
}
