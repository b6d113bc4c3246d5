package npy

import (
	"math"
)

// maxNested is how deep structures may be in each other.
const maxNested = 32

// structure reads the fields of a structure, [(name, type), (name, type, shape), …], and
// returns its bytes. A type is a name, or a structure.
func (p *parser) structure(depth int) (bytes int64, err error) {
	if depth > maxNested || !p.take("[") {
		return 0, errForm
	}
	for comma := true; !p.take("]"); comma = p.take(",") {
		n, err := p.member(depth)
		if err != nil {
			return 0, err
		}
		if !comma || n > math.MaxInt32-bytes {
			return 0, errForm
		}
		bytes += n
	}
	return bytes, nil
}

// member reads a field of a structure, and returns its bytes.
func (p *parser) member(depth int) (bytes int64, err error) {
	if !p.take("(") || !p.title() || !p.take(",") {
		return 0, errForm
	}
	if p.sees("[") {
		bytes, err = p.structure(depth + 1)
	} else if descr, ok := p.quoted(); ok {
		bytes, err = itemOf(descr)
	} else {
		err = errForm
	}
	if err != nil {
		return 0, err
	}
	if p.take(",") && !p.sees(")") {
		shape, err := p.extents()
		if err != nil {
			return 0, err
		}
		n, err := shape.Elements()
		if err != nil || bytes > 0 && n > math.MaxInt32/bytes {
			return 0, errForm
		}
		bytes *= n
		p.take(",")
	}
	if !p.take(")") {
		return 0, errForm
	}
	return bytes, nil
}

// title reads the name of a field, or a title and a name.
func (p *parser) title() bool {
	if !p.take("(") {
		_, ok := p.quoted()
		return ok
	}
	_, title := p.quoted()
	comma := p.take(",")
	_, name := p.quoted()
	return title && comma && name && p.take(")")
}
