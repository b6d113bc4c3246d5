package change

// Stretched is what a recording is before it is made as long as it was.
func (p *Pitch) Stretched(wave []float32) []float32 { return p.stretched(wave) }
