package media

// Draw is what a random operation has drawn for one image, in terms that people can
// check: a part that was cut out as x, y, width and height, in the image that the
// operation is given, which is turned as its orientation says; what was or was not done
// as a bool; amounts by their names. docs/guide/order-state-memory.md lists them.
type Draw struct {
	Step   int            // the operation, as an index into the steps
	Values map[string]any // int, float64, bool or []string, by name
}

// tells reports whether somebody wants to know what is drawn.
func (p *Plan) tells() bool { return p.draws != nil }

func (p *Plan) tell(values map[string]any) {
	p.draws = append(p.draws, Draw{Step: p.drawing, Values: values})
}

// applies draws whether a step that has a probability does anything, by draw 0, and tells
// it under a name.
func (p *Plan) applies(id uint64, r Rand, probability float64, told string) bool {
	does := r.Float64(id, 0) < probability
	if p.tells() {
		p.tell(map[string]any{told: does})
	}
	return does
}

func (p *Plan) tellRect(r Rect) {
	p.tell(map[string]any{"x": r.X, "y": r.Y, "width": r.Width, "height": r.Height})
}
