package npy

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/headrace/headrace/tensor"
)

// header is what the text of one says.
type header struct {
	descr   string
	item    int64 // bytes of a structure; 0: the elements are none
	fortran bool
	shape   tensor.Shape
}

// parser reads the text of a header from left to right.
type parser struct {
	text string
	at   int
}

var errForm = errors.New("the header is not valid: must be like {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }")

// parse reads {'descr': text, 'fortran_order': True or False, 'shape': (extents)}, the
// keys in any order, each once, with blanks wherever Python allows them.
func parse(text string) (h header, err error) {
	p := &parser{text: text}
	seen := map[string]bool{}
	if !p.take("{") {
		return h, errForm
	}
	for !p.take("}") {
		key, ok := p.quoted()
		if !ok || seen[key] || !p.take(":") {
			return h, errForm
		}
		seen[key] = true
		if err := p.value(&h, key); err != nil {
			return h, err
		}
		if !p.take(",") && !p.sees("}") {
			return h, errForm
		}
	}
	if p.skip(); p.at < len(text) || len(seen) != 3 {
		return h, errForm
	}
	return h, nil
}

func (p *parser) value(h *header, key string) (err error) {
	ok := false
	switch key {
	case "descr":
		if p.sees("[") {
			from := p.at
			h.item, err = p.structure(0)
			h.descr, ok = p.text[from:p.at], err == nil
		} else {
			h.descr, ok = p.quoted()
		}
	case "fortran_order":
		h.fortran = p.take("True")
		ok = h.fortran || p.take("False")
	case "shape":
		h.shape, err = p.extents()
		ok = true
	}
	if !ok {
		return cmp.Or(err, errForm)
	}
	return err
}

// extents reads a tuple of whole numbers. One in brackets alone is none.
func (p *parser) extents() (shape tensor.Shape, err error) {
	if !p.take("(") {
		return nil, errForm
	}
	shape = tensor.Shape{}
	for comma := true; !p.take(")"); comma = p.take(",") {
		n, ok := p.number()
		if !comma || !ok {
			return nil, errForm
		}
		if shape = append(shape, n); len(shape) > maxAxes {
			return nil, fmt.Errorf("the array has more than %d axes", maxAxes)
		}
		if len(shape) == 1 && p.sees(")") {
			return nil, errForm
		}
	}
	return shape, nil
}

// number reads a whole number, at least 0, as Python writes it.
func (p *parser) number() (int, bool) {
	p.skip()
	end := p.at
	for end < len(p.text) && p.text[end] >= '0' && p.text[end] <= '9' {
		end++
	}
	digits := p.text[p.at:end]
	p.at = end
	n, err := strconv.Atoi(digits)
	return n, err == nil && (digits == "0" || digits[0] != '0')
}

// quoted reads a text without escapes.
func (p *parser) quoted() (string, bool) {
	for _, quote := range []string{"'", `"`} {
		if !p.take(quote) {
			continue
		}
		text, _, ok := strings.Cut(p.text[p.at:], quote)
		p.at = min(p.at+len(text)+len(quote), len(p.text))
		return text, ok && !strings.ContainsAny(text, "\\\n")
	}
	return "", false
}

// take reads what is next, if it is this.
func (p *parser) take(what string) bool {
	if !p.sees(what) {
		return false
	}
	p.at += len(what)
	return true
}

func (p *parser) sees(what string) bool {
	p.skip()
	return strings.HasPrefix(p.text[p.at:], what)
}

func (p *parser) skip() {
	for p.at < len(p.text) && strings.IndexByte(" \t\r\n\f", p.text[p.at]) >= 0 {
		p.at++
	}
}
