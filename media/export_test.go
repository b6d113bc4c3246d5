package media

// Work returns what the plan says is to be done, without how it came to that.
func (p Plan) Work() Plan {
	p.given = nil
	return p
}
