package where

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// Parse reads an expression.
func Parse(s string) (Expr, error) {
	p := parser{s: s}
	if err := p.advance(); err != nil {
		return nil, err
	}
	if p.token.kind == end {
		return nil, &Error{s, 0, fmt.Errorf(`is empty: write an expression, such as "age > 3"`)}
	}
	e, err := p.either()
	if err == nil && p.token.kind != end {
		err = p.unexpected("at the end of the expression", `join expressions with "and" or "or"`)
	}
	if err != nil {
		return nil, err
	}
	return e, nil
}

// mostDeep bounds how many parentheses and nots are within each other.
const mostDeep = 100

type parser struct {
	s     string
	token token // that comes next
	last  int   // where the token before it ends
	deep  int
}

func (p *parser) advance() (err error) {
	p.last = p.token.ends
	p.token, err = next(p.s, p.token.ends)
	return err
}

func (p *parser) wrong(at int, format string, args ...any) error {
	return &Error{p.s, at, fmt.Errorf(format, args...)}
}

// unexpected is the error of the token that comes next.
func (p *parser) unexpected(where, remedy string) error {
	if p.token.kind == end {
		return p.wrong(p.last, "ends too early: %s", remedy)
	}
	return p.wrong(p.token.at, "has %s %s: %s", p.token, where, remedy)
}

// String is the token as messages write it.
func (t token) String() string {
	if t.kind == text {
		return "the text " + strconv.Quote(shortened(t.text))
	}
	return strconv.Quote(shortened(t.text))
}

func shortened(s string) string {
	if r := []rune(s); len(r) > 40 {
		return string(r[:40]) + "…"
	}
	return s
}

// is reports whether a sign or a reserved word comes next.
func (p *parser) is(what string) bool {
	return (p.token.kind == sign || p.token.kind == word) && p.token.text == what
}

// take is is, and goes on after it.
func (p *parser) take(what string) (bool, error) {
	if !p.is(what) {
		return false, nil
	}
	return true, p.advance()
}

// either reads expressions joined by or.
func (p *parser) either() (Expr, error) {
	var all Or
	for {
		e, err := p.all()
		if err != nil {
			return nil, err
		}
		if of, ok := e.(Or); ok {
			all = append(all, of...)
		} else {
			all = append(all, e)
		}
		switch more, err := p.take("or"); {
		case err != nil:
			return nil, err
		case more:
		case len(all) == 1:
			return e, nil
		default:
			return all, nil
		}
	}
}

// all reads expressions joined by and.
func (p *parser) all() (Expr, error) {
	var all And
	for {
		e, err := p.one()
		if err != nil {
			return nil, err
		}
		if of, ok := e.(And); ok {
			all = append(all, of...)
		} else {
			all = append(all, e)
		}
		switch more, err := p.take("and"); {
		case err != nil:
			return nil, err
		case more:
		case len(all) == 1:
			return e, nil
		default:
			return all, nil
		}
	}
}

// one reads an expression that nothing joins.
func (p *parser) one() (e Expr, err error) {
	at := p.token.at
	if p.deep++; p.deep > mostDeep {
		return nil, p.wrong(at, "is more than %d deep in parentheses and nots: write it flatter", mostDeep)
	}
	defer func() { p.deep-- }()
	if not, err := p.take("not"); not || err != nil {
		if err == nil {
			e, err = p.one()
		}
		if err != nil {
			return nil, err
		}
		return Not{e}, nil
	}
	switch open, err := p.take("("); {
	case err != nil:
		return nil, err
	case !open:
		return p.comparison()
	}

	if e, err = p.either(); err != nil {
		return nil, err
	}
	if !p.is(")") {
		return nil, p.unexpected("in parentheses", `close them with ")", or join expressions with "and" or "or"`)
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	if _, ok := p.op(); ok || p.is("in") || p.is("is") {
		return nil, p.unexpected("after parentheses", "only a column can be compared, without parentheses")
	}
	return e, nil
}

// operand is a side of a comparison.
type operand struct {
	name  Name // of a column; "": it is a value
	value Value
	null  bool
	at    int
}

// comparison reads what begins with a column or a value.
func (p *parser) comparison() (Expr, error) {
	left, err := p.operand()
	if err != nil {
		return nil, err
	}
	isColumn := left.name.Text != ""
	switch {
	case p.is("is"):
		return p.null(left)
	case p.is("in") || p.is("not"):
		not := p.is("not")
		if not {
			if err := p.advance(); err != nil {
				return nil, err
			}
		}
		if !p.is("in") {
			return nil, p.unexpected(`after "not"`, `write "not in", or "and not"`)
		}
		if !isColumn {
			return nil, p.wrong(left.at, `has a value before "in": write a column`)
		}
		if err := p.advance(); err != nil {
			return nil, err
		}
		values, err := p.list()
		if err != nil {
			return nil, err
		}
		if in := (In{left.name, values}); !not {
			return in, nil
		}
		return Not{In{left.name, values}}, nil
	}

	var chain And
	for {
		op, ok := p.op()
		if !ok {
			break
		}
		if err := p.advance(); err != nil {
			return nil, err
		}
		right, err := p.operand()
		if err != nil {
			return nil, err
		}
		e, err := p.compare(left, op, right)
		if err != nil {
			return nil, err
		}
		chain, left = append(chain, e), right
	}
	switch {
	case len(chain) > 1:
		return chain, nil
	case len(chain) == 1:
		return chain[0], nil
	case isColumn:
		return True{left.name}, nil
	}
	return nil, p.wrong(left.at, `has a value that is not compared: write a column and how it is, such as "age > 3"`)
}

// op returns the comparison that comes next.
func (p *parser) op() (Op, bool) {
	at := slices.Index(ops[:], p.token.text)
	return Op(max(at, 0)), at >= 0 && p.token.kind == sign
}

func (p *parser) compare(left operand, op Op, right operand) (Expr, error) {
	for _, side := range []operand{left, right} {
		if side.null {
			return nil, p.wrong(side.at, `compares with null, which is never true: write "is null" or "is not null"`)
		}
	}
	switch a, b := left.name.Text != "", right.name.Text != ""; {
	case a && b:
		return nil, p.wrong(right.at, "compares two columns, %q and %q: one side must be a value; text is written in quotes",
			shortened(left.name.Text), shortened(right.name.Text))
	case b:
		return Compare{right.name, op.turned(), left.value}, nil
	case a:
		return Compare{left.name, op, right.value}, nil
	}
	return nil, p.wrong(right.at, "compares two values: one side must be a column, whose name has no quotes, or backquotes")
}

// null reads is null, or is not null.
func (p *parser) null(of operand) (Expr, error) {
	if of.name.Text == "" {
		return nil, p.wrong(of.at, `has a value before "is": write a column`)
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	not, err := p.take("not")
	if err != nil {
		return nil, err
	}
	if !p.is("null") && !p.is("none") {
		return nil, p.unexpected(`after "is"`, `write "is null" or "is not null", and "==" for any other value`)
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	if not {
		return Not{Null{of.name}}, nil
	}
	return Null{of.name}, nil
}

// list reads the values after in, as Python writes a tuple or a list.
func (p *parser) list() (all []Value, err error) {
	closes := map[string]string{"(": ")", "[": "]"}[p.token.text]
	if p.token.kind != sign || closes == "" {
		return nil, p.unexpected(`after "in"`, "write values in parentheses, such as ('de', 'fr')")
	}
	open := p.token.at
	if err := p.advance(); err != nil {
		return nil, err
	}

	for !p.is(closes) {
		v, err := p.operand()
		switch {
		case err != nil:
			return nil, err
		case v.name.Text != "":
			return nil, p.wrong(v.at, "has the column %q in a list of values: text is written in quotes", shortened(v.name.Text))
		case v.null:
			return nil, p.wrong(v.at, `has null in a list of values, which is never true: write "or %s"`, "… is null")
		}
		all = append(all, v.value)
		if p.is(closes) {
			break
		}
		if comma, err := p.take(","); !comma {
			if err == nil {
				err = p.unexpected("in a list of values", fmt.Sprintf("write %q between values, and %q after them", ",", closes))
			}
			return nil, err
		} else if err != nil {
			return nil, err
		}
	}
	if len(all) == 0 {
		return nil, p.wrong(open, "has a list without values, in which nothing is")
	}
	return all, p.advance()
}

// operand reads a column or a value.
func (p *parser) operand() (o operand, err error) {
	t := p.token
	o.at, o.value.At = t.at, t.at
	minus := p.is("-")
	if minus || p.is("+") {
		if err := p.advance(); err != nil {
			return o, err
		}
		if p.token.kind != number {
			return o, p.unexpected("after a sign", "write a number")
		}
		t = p.token
	}

	switch {
	case t.kind == number:
		if o.value, err = p.number(t, minus); err != nil {
			return o, err
		}
		o.value.At = o.at
	case t.kind == text:
		o.value.Text = t.text
	case t.kind == name:
		o.name = Name{t.text, t.at}
	case t.kind == word && (t.text == "true" || t.text == "false"):
		o.value.Kind, o.value.Bool = Bool, t.text == "true"
	case t.kind == word && (t.text == "null" || t.text == "none"):
		o.null = true
	default:
		return o, p.unexpected("where a column or a value must be",
			"write a column, a number, text in quotes, true or false")
	}
	if err := p.advance(); err != nil {
		return o, err
	}
	if t.kind == text && p.token.kind == text {
		quote := p.s[p.token.at : p.token.at+1]
		return o, p.wrong(p.token.at, `has text after text: a quote inside text is written with a backslash, \%s`, quote)
	}
	return o, nil
}

// Numbers have at most so many characters, and so large an exponent: no type has more.
const (
	mostDigits   = 400
	mostExponent = 400
)

// number is the value of a token.
func (p *parser) number(t token, minus bool) (v Value, err error) {
	digits := strings.ReplaceAll(t.text, "_", "")
	mantissa, exponent, has := strings.Cut(strings.ToLower(digits), "e")
	apart := strings.HasSuffix(t.text, "_") || strings.Contains(t.text, "__")
	bad := apart || strings.Trim(mantissa, "0123456789.") != "" || strings.Trim(mantissa, ".") == "" || strings.Count(mantissa, ".") > 1
	if has {
		n, err := strconv.Atoi(exponent)
		if err == nil && (n > mostExponent || n < -mostExponent) || len(exponent) > 9 {
			return v, p.wrong(t.at, "has the number %s, whose exponent is beyond ±%d", shortened(t.text), mostExponent)
		}
		bad = bad || err != nil
	}
	v = Value{Kind: Number, Text: digits}
	var ok bool
	if !bad && len(digits) <= mostDigits {
		v.Number, ok = new(big.Rat).SetString(digits)
	}
	if !ok {
		return v, p.wrong(t.at, "has %q, which is not a number: "+
			"a name that begins with a digit is written in backquotes", shortened(t.text))
	}
	if minus {
		v.Text = "-" + v.Text
		v.Number.Neg(v.Number)
	}
	return v, nil
}
