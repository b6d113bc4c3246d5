package document

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
	"github.com/headrace/headrace/internal/rawjson"
)

// MaxBytes bounds what is read, for a wrong name may be one of something that does not
// end.
const MaxBytes = 1 << 30

// Version is the number of the notation, the value of the key "headrace".
const Version = 1

// MaxYAML is the size of the largest YAML text that is read, as its tree may take a few
// hundred times the memory. JSON may be larger.
const MaxYAML = 1 << 20

const (
	maxYAMLKeys  = 10_000 // the parser compares those of an object with each other
	maxYAMLDepth = 50
)

// parseYAML makes one JSON value of YAML text. What YAML has beyond JSON in meaning is
// refused: anchors, tags, merged and complex keys, several documents, numbers in other
// notations.
func parseYAML(text []byte) (Document, error) {
	if len(text) > MaxYAML {
		return Document{}, &rawjson.SyntaxError{Err: fmt.Errorf("is larger than %d MiB, "+
			"the limit for YAML: write it as JSON, which may have %d MiB", MaxYAML>>20, MaxBytes>>20)}
	}
	if at, ok := invalid(text); ok {
		line, column := rawjson.Position(text, at+1)
		return Document{}, yamlError(line, column, "is not valid UTF-8")
	}

	return guard(func() (Document, error) {
		tokens := lexer.Tokenize(strings.ReplaceAll(string(text), "\r\n", "\n"))
		if err := admit(tokens); err != nil {
			return Document{}, err
		}

		// Keys that are given twice are found where they are read, with the words for
		// JSON.
		file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
		if err != nil {
			return Document{}, syntaxError(err)
		}
		body, err := document(file)
		if err != nil {
			return Document{}, err
		}

		y := yamlReader{text: text}
		y.node(body)
		if len(y.errs) > 0 {
			return Document{}, errors.Join(y.errs...)
		}
		return Document{Value: y.out, marks: y.marks, text: text}, nil
	})
}

// guard makes an error of a panic: the parser is large, and what it reads may come from
// anywhere.
func guard(parse func() (Document, error)) (d Document, err error) {
	defer func() {
		if p := recover(); p != nil {
			d, err = Document{}, yamlError(1, 1, "is not readable YAML: %v", p)
		}
	}()
	return parse()
}

// invalid finds the first byte that is not UTF-8.
func invalid(text []byte) (at int, found bool) {
	for at < len(text) {
		r, n := utf8.DecodeRune(text[at:])
		if r == utf8.RuneError && n == 1 {
			return at, true
		}
		at += n
	}
	return 0, false
}

func yamlError(line, column int, format string, args ...any) *rawjson.SyntaxError {
	return &rawjson.SyntaxError{Line: line, Column: column, Err: fmt.Errorf(format, args...)}
}

func tokenError(t *token.Token, format string, args ...any) *rawjson.SyntaxError {
	return yamlError(t.Position.Line, max(1, t.Position.Column), format, args...)
}

// syntaxError takes message and place of an error of the parser.
func syntaxError(err error) *rawjson.SyntaxError {
	var e interface {
		GetMessage() string
		GetToken() *token.Token
	}
	if errors.As(err, &e) && e.GetToken() != nil {
		return tokenError(e.GetToken(), "is not valid YAML: %s", e.GetMessage())
	}
	return &rawjson.SyntaxError{Err: fmt.Errorf("is not valid YAML: %w", err)}
}

// unsupported are the tokens of what recipes do not have, with what to write instead.
var unsupported = map[token.Type]string{
	token.AnchorType: "has an anchor: recipes have none; a value for several places is a variable",
	token.AliasType: "has an alias: recipes have none; a value for several places is a variable, " +
		"and text that begins with * must be quoted",
	token.MergeKeyType:   "has a merge key: recipes have none; write it out at each place",
	token.TagType:        "has a tag: recipes have none; text that begins with ! must be quoted",
	token.MappingKeyType: "has a key after a question mark: write keys like size:",
	token.DirectiveType:  "has a directive: recipes have none; text that begins with % must be quoted",
}

// admit refuses what the parser should not see: for its size, or because recipes have no
// such thing.
func admit(tokens token.Tokens) error {
	flow, dashes, keys := 0, 0, 0
	for _, t := range tokens {
		if text, found := unsupported[t.Type]; found {
			return tokenError(t, "%s", text)
		}

		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			flow++
		case token.SequenceEndType, token.MappingEndType:
			flow--
		case token.MappingValueType:
			keys++
		case token.SequenceEntryType:
			dashes++
		}
		if t.Type != token.SequenceEntryType {
			dashes = 0
		}

		if flow > maxYAMLDepth || dashes > maxYAMLDepth {
			return tokenError(t, "is nested more than %d deep", maxYAMLDepth)
		}
		if keys > maxYAMLKeys {
			return tokenError(t, "has more than %d keys", maxYAMLKeys)
		}
	}
	return nil
}

// document returns what the one document of a file holds.
func document(f *ast.File) (ast.Node, error) {
	var body ast.Node
	for _, d := range f.Docs {
		if d.Body == nil || d.Body.Type() == ast.CommentType {
			continue
		}
		if body != nil {
			return nil, tokenError(d.Body.GetToken(), "has a second document: a file has one recipe")
		}
		body = d.Body
	}
	if body == nil {
		return nil, yamlError(1, 1, "is empty: a recipe begins with headrace: %d", Version)
	}
	return body, nil
}

// yamlReader writes a tree as JSON.
type yamlReader struct {
	text  []byte
	lines [][]byte
	out   []byte
	marks []mark
	errs  []error
}

func (y *yamlReader) mark(p *token.Position) {
	y.marks = append(y.marks, mark{len(y.out), p.Line, max(1, p.Column)})
}

func (y *yamlReader) node(n ast.Node) {
	switch n := n.(type) {
	case *ast.MappingNode:
		start := n.Start
		if len(n.Values) > 0 && !n.IsFlowStyle {
			start = n.Values[0].Key.GetToken()
		}
		y.mark(start.Position)
		y.mapping(n.Values)

	case *ast.MappingValueNode:
		y.mark(n.Key.GetToken().Position)
		y.mapping([]*ast.MappingValueNode{n})

	case *ast.SequenceNode:
		y.mark(n.Start.Position)
		for i, v := range n.Values {
			y.out = append(y.out, "[,"[min(i, 1)])
			y.node(v)
		}
		if len(n.Values) == 0 {
			y.out = append(y.out, '[')
		}
		y.out = append(y.out, ']')

	case *ast.LiteralNode:
		y.mark(n.Start.Position)
		y.out = rawjson.AppendQuote(y.out, n.Value.Value)
	default:
		y.scalar(n.GetToken())
	}
}

func (y *yamlReader) mapping(members []*ast.MappingValueNode) {
	y.out = append(y.out, '{')
	for i, m := range members {
		if i > 0 {
			y.out = append(y.out, ',')
		}
		key := m.Key.GetToken()
		y.mark(key.Position)
		y.out = append(rawjson.AppendQuote(y.out, y.textOf(key)), ':')
		y.node(m.Value)
	}
	y.out = append(y.out, '}')
}

// scalar writes a value that has no parts.
func (y *yamlReader) scalar(t *token.Token) {
	y.mark(t.Position)
	if t.Type == token.DoubleQuoteType || t.Type == token.SingleQuoteType {
		y.out = rawjson.AppendQuote(y.out, y.textOf(t))
		return
	}
	v, err := unquoted(t.Value)
	if err != nil {
		y.errs = append(y.errs, tokenError(t, "%w", err))
	}
	y.out = append(y.out, v...)
}

// textOf returns the text that a token means. YAML's escapes are code points, of
// which surrogates are none; where a path has some for its bytes, the text is read again
// as JSON has it.
func (y *yamlReader) textOf(t *token.Token) string {
	if t.Type != token.DoubleQuoteType || !strings.ContainsRune(t.Value, utf8.RuneError) {
		return t.Value
	}
	if y.lines == nil {
		y.lines = bytes.Split(y.text, []byte("\n"))
	}
	line := y.lines[min(max(t.Position.Line, 1), len(y.lines))-1]
	quoted := closed(from(line, t.Position.Column))
	if quoted == nil {
		return t.Value
	}
	text, err := rawjson.UnquoteBytes(quoted)
	switch {
	case err == rawjson.ErrEscape: // one of YAML's own
		return t.Value
	case err != nil:
		y.errs = append(y.errs, tokenError(t, "has the text %s, which %w", quoted.Describe(), err))
	}
	return text
}

// from is the rest of a line, from a column on. Columns are characters, without tabs.
func from(line []byte, column int) rawjson.Value {
	for i, c := range string(line) {
		if c == '\t' {
			continue
		}
		if column--; column <= 0 {
			return line[i:]
		}
	}
	return nil
}

// closed returns the string that v begins with; nil where it does not end.
func closed(v rawjson.Value) rawjson.Value {
	if len(v) == 0 || v[0] != '"' {
		return nil
	}
	for i := 1; i < len(v); i++ {
		switch v[i] {
		case '\\':
			i++
		case '"':
			return v[:i+1]
		}
	}
	return nil
}

var (
	decimalForm = regexp.MustCompile(`^([-+]?)([0-9]*)(\.?)([0-9]*)([eE][-+]?[0-9]+)?$`)
	otherForm   = regexp.MustCompile(`^([-+]?0[ox][0-9A-Fa-f]+|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))$`)
)

// unquoted resolves text without quotes as YAML 1.2 does: yes, no, on and off are text.
// Numbers that others would read differently are refused.
func unquoted(text string) ([]byte, error) {
	switch text {
	case "", "~", "null", "Null", "NULL":
		return []byte("null"), nil
	case "true", "True", "TRUE":
		return []byte("true"), nil
	case "false", "False", "FALSE":
		return []byte("false"), nil
	}

	if otherForm.MatchString(text) {
		return nil, fmt.Errorf("has the number %s: must be finite decimal numbers, or text in quotes", text)
	}
	m := decimalForm.FindStringSubmatch(text)
	if m == nil || m[2] == "" && m[4] == "" {
		return rawjson.AppendQuote(nil, text), nil
	}

	// JSON has no sign before positive numbers, and digits on both sides of the point.
	sign, whole, point, fraction, exponent := strings.TrimPrefix(m[1], "+"), m[2], m[3], m[4], m[5]
	if len(whole) > 1 && whole[0] == '0' {
		return nil, fmt.Errorf("has the number %s, which some read as octal: must be %s, or %q as text",
			text, sign+strings.TrimLeft(whole[:len(whole)-1], "0")+whole[len(whole)-1:]+point+fraction+exponent, text)
	}
	if whole == "" {
		whole = "0"
	}
	if point != "" && fraction == "" {
		fraction = "0"
	}
	return []byte(sign + whole + point + fraction + exponent), nil
}
