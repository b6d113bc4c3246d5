package fuse

import "headrace/media"

// Split returns p with each step a part of its own: what it does can be seen, and costs that its pixels are stored for the next. Steps from the
// first on that leaves what no step can go on with stay one part.
func (p Plan) Split() (Plan, error) {
	var err error
	if p.Samples, err = p.Samples.split(); err != nil || p.Last.Images == nil && p.Last.Step == nil {
		return p, err
	}
	parts, err := p.Last.split()
	if err != nil {
		return Plan{}, err
	}
	last := len(parts) - 1
	p.Last = parts[last]
	for i := range parts[:last] {
		p.Samples.Nodes = append(p.Samples.Nodes, Node{Part: &parts[i]})
	}
	return p, nil
}

func (f Flow) split() (_ Flow, err error) {
	if f.Merge != nil {
		m := *f.Merge
		m.Of = make([]Flow, len(f.Merge.Of))
		for i, of := range f.Merge.Of {
			if m.Of[i], err = of.split(); err != nil {
				return f, err
			}
		}
		f.Merge = &m
	}
	var nodes []Node
	for _, n := range f.Nodes {
		some, err := n.split()
		if err != nil {
			return f, err
		}
		nodes = append(nodes, some...)
	}
	f.Nodes = nodes
	return f, nil
}

func (n Node) split() (nodes []Node, err error) {
	switch {
	case n.Route != nil:
		r := *n.Route
		r.Branches = make([]Branch, len(n.Route.Branches))
		for i, b := range n.Route.Branches {
			r.Branches[i] = b
			if r.Branches[i].Flow, err = b.Flow.split(); err != nil {
				return nil, err
			}
		}
		return []Node{{Route: &r}}, nil
	case n.Part.Images == nil:
		return []Node{n}, nil
	}
	parts, err := n.Part.split()
	for i := range parts {
		nodes = append(nodes, Node{Part: &parts[i]})
	}
	return nodes, err
}

// split takes a part apart. Its names are those of its steps, before them that of the decoding, behind them that of the batch, if it has these.
func (p Part) split() (parts []Part, err error) {
	if p.Step != nil {
		return []Part{{Names: p.Names[:1:1], Step: p.Step, Failures: p.Failures}, {Names: p.Names[1:]}}, nil
	}
	rest, names := *p.Images, p.Names
	take := func(n int, steps []media.Step, out media.Form) {
		images := rest
		images.Steps = steps
		parts = append(parts, Part{Names: names[:n:n], Images: &images, Failures: p.Failures})
		names = names[n:]
		rest.Field, rest.Form = "", out
		rest.Decode = media.Options{Mode: rest.Decode.Mode, Color: out.Color, DType: out.DType}
	}
	if rest.Field != "" {
		take(1, nil, rest.Form)
	}
	for i, s := range p.Images.Steps {
		out, err := s.Op.Result(rest.Form)
		if err != nil {
			return nil, err
		}
		if !storable(out) {
			take(len(names), p.Images.Steps[i:], out)
			return parts, nil
		}
		take(1, p.Images.Steps[i:i+1], out)
	}
	if len(names) > 0 { // the batch
		parts = append(parts, Part{Names: names})
	}
	return parts, nil
}
