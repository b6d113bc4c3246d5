package recipe

// Room is the operations of one package. Each adds itself in the file that has its
// arguments.
type Room []Op

// Add adds an operation to those of the room.
func (r *Room) Add(o Op) Op {
	*r = append(*r, o)
	return o
}
