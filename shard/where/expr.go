package where

import (
	"math/big"
	"strconv"
	"strings"
	"unicode"
)

// Expr is an expression: an [And], [Or], [Not], [Compare], [In], [Null] or [True]. String
// writes it in one way, so that two texts with the same meaning but for blanks, quotes
// and parentheses are the same.
type Expr interface{ String() string }

// And is true if all of its two or more parts are, and false if one of them is false.
type And []Expr

// Or is true if one of its two or more parts is, and false if all of them are false.
type Or []Expr

// Not turns true and false round.
type Not struct{ Of Expr }

// Compare compares a column with a value.
type Compare struct {
	Column Name
	Op     Op
	Value  Value
}

// In is true if a column has one of the values.
type In struct {
	Column Name
	Values []Value
}

// Null is true if a column has no value, and otherwise false.
type Null struct{ Column Name }

// True is a column of booleans.
type True struct{ Column Name }

// Op is a comparison.
type Op uint8

// The comparisons.
const (
	Equal Op = iota
	Unequal
	Less
	AtMost
	More
	AtLeast
)

var ops = [...]string{Equal: "==", Unequal: "!=", Less: "<", AtMost: "<=", More: ">", AtLeast: ">="}

func (o Op) String() string { return ops[o] }

// turned is the comparison with its sides exchanged.
func (o Op) turned() Op {
	return [...]Op{Equal: Equal, Unequal: Unequal, Less: More, AtMost: AtLeast, More: Less, AtLeast: AtMost}[o]
}

// Name names a column.
type Name struct {
	Text string
	At   int // in bytes from the begin of the expression
}

// Kind tells text, numbers and booleans apart.
type Kind uint8

// The kinds of values.
const (
	Text Kind = iota
	Number
	Bool
)

// Value is a constant in an expression.
type Value struct {
	Kind   Kind
	Text   string   // of a number, its digits as they were written
	Number *big.Rat // nil: it is no number
	Bool   bool
	At     int
}

func (a And) String() string { return joined(a, " and ") }

func (o Or) String() string { return joined(o, " or ") }

func joined[E ~[]Expr](all E, with string) string {
	var b strings.Builder
	for i, e := range all {
		if i > 0 {
			b.WriteString(with)
		}
		b.WriteString(inside(e))
	}
	return b.String()
}

// inside writes an expression as a part of another one.
func inside(e Expr) string {
	switch e.(type) {
	case And, Or:
		return "(" + e.String() + ")"
	}
	return e.String()
}

func (n Not) String() string { return "not " + inside(n.Of) }

func (c Compare) String() string {
	return c.Column.String() + " " + c.Op.String() + " " + c.Value.String()
}

func (i In) String() string {
	var b strings.Builder
	b.WriteString(i.Column.String() + " in (")
	for k, v := range i.Values {
		if k > 0 {
			b.WriteString(", ")
		}
		b.WriteString(v.String())
	}
	return b.String() + ")"
}

func (n Null) String() string { return n.Column.String() + " is null" }

func (t True) String() string { return t.Column.String() }

// String is the name, in backquotes if it needs them.
func (n Name) String() string {
	plain := n.Text != "" && reservedAs(n.Text) == ""
	for i, r := range n.Text {
		plain = plain && inName(r, i == 0) && r != unicode.ReplacementChar
	}
	if plain {
		return n.Text
	}
	return "`" + strings.ReplaceAll(n.Text, "`", "``") + "`"
}

func (v Value) String() string {
	switch v.Kind {
	case Number:
		if s := v.Number.RatString(); !strings.Contains(s, "/") && len(s) < 20 {
			return s
		}
		return v.Text
	case Bool:
		return strconv.FormatBool(v.Bool)
	}
	return quote(v.Text)
}

// quote writes text so that it is read again.
func quote(text string) string {
	var b strings.Builder
	b.WriteByte('\'')
	for _, c := range []byte(text) {
		switch {
		case c == '\'' || c == '\\':
			b.Write([]byte{'\\', c})
		case c == '\n':
			b.WriteString(`\n`)
		default:
			b.WriteByte(c)
		}
	}
	return b.String() + "'"
}
