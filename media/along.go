package media

// Along is the company of an image that a plan is for.
type Along struct {
	Boxes []Bounds // as they are before step From
	From  int
	// Agree returns the part that images with the same step, by its ID, have in common,
	// and draws it if none has drawn yet.
	Agree func(id uint64, draw func() Rect) (Rect, error)
}
