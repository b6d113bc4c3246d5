package media

// Waves move points by smooth random distances.
type Waves struct {
	Seed  uint64
	Sigma [2]float64 // how smooth, across and down, in pixels
	X, Y  float64    // the distance in pixels that a value of 1 is
}

func (w *Waves) on() bool { return w.X != 0 || w.Y != 0 }

// WavesOf are the waves of a warp for a result of a size: for each pixel how far it is
// moved across and down. nil: it has none.
func (w *Warp) WavesOf(to Size) []int16 {
	if !w.Waves.on() {
		return nil
	}
	panic("soon")
}
