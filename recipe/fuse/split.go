package fuse

import "headrace/media"

// Split returns p with each step a part of its own: what it does can be seen, and costs that its pixels are stored for the next. Steps from the
// first on that leaves what no step can go on with stay one part.
func (p Plan) Split() (Plan, error) {
	var parts []Part
	for _, whole := range p.Parts {
		if whole.Images == nil {
			parts = append(parts, whole)
			continue
		}
		some, err := whole.split()
		if err != nil {
			return Plan{}, err
		}
		parts = append(parts, some...)
	}
	p.Parts = parts
	return p, nil
}

// split takes a part apart. Its names are those of its steps, before them that of the decoding, behind them that of the batch, if it has these.
func (p Part) split() (parts []Part, err error) {
	rest, names := *p.Images, p.Names
	take := func(n int, steps []media.Step, out media.Form) {
		images := rest
		images.Steps = steps
		parts = append(parts, Part{Names: names[:n:n], Images: &images})
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
