package image

import "github.com/headrace/headrace/media"

// boxNumbers has the numbers of a box, in the order of its format, and zeros after them.
type boxNumbers [8]float64

// boxFormat is the meaning of the numbers of a box. Boxes that may be turned have
// corners, and others have edges.
type boxFormat struct {
	numbers int
	edges   func(box boxNumbers) media.Bounds
	ofEdges func(b media.Bounds) boxNumbers

	corners   func(box boxNumbers) media.Quad
	ofCorners func(q media.Quad) boxNumbers
}

// boxFormats are torchvision's, by its names.
var boxFormats = map[string]boxFormat{
	"XYXY": {numbers: 4,
		edges:   func(v boxNumbers) media.Bounds { return media.Bounds{X0: v[0], Y0: v[1], X1: v[2], Y1: v[3]} },
		ofEdges: func(b media.Bounds) boxNumbers { return boxNumbers{b.X0, b.Y0, b.X1, b.Y1} }},
	"XYWH": {numbers: 4,
		edges: func(v boxNumbers) media.Bounds {
			return media.Bounds{X0: v[0], Y0: v[1], X1: v[0] + v[2], Y1: v[1] + v[3]}
		},
		ofEdges: func(b media.Bounds) boxNumbers { return boxNumbers{b.X0, b.Y0, b.X1 - b.X0, b.Y1 - b.Y0} }},
	"CXCYWH": {numbers: 4,
		edges: func(v boxNumbers) media.Bounds {
			w, h := v[2]/2, v[3]/2
			return media.Bounds{X0: v[0] - w, Y0: v[1] - h, X1: v[0] + w, Y1: v[1] + h}
		},
		ofEdges: func(b media.Bounds) boxNumbers {
			return boxNumbers{(b.X0 + b.X1) / 2, (b.Y0 + b.Y1) / 2, b.X1 - b.X0, b.Y1 - b.Y0}
		}},
	"XYWHR": {numbers: 5,
		corners: func(v boxNumbers) media.Quad { return media.TurnedBox(v[0], v[1], v[2], v[3], v[4]) },
		ofCorners: func(q media.Quad) boxNumbers {
			w, h := q.Sides()
			return boxNumbers{q[0][0], q[0][1], w, h, q.Angle()}
		}},
	"CXCYWHR": {numbers: 5,
		corners: func(v boxNumbers) media.Quad {
			q := media.TurnedBox(0, 0, v[2], v[3], v[4])
			x, y := q.Center()
			for i := range q {
				q[i][0], q[i][1] = q[i][0]-x+v[0], q[i][1]-y+v[1]
			}
			return q
		},
		ofCorners: func(q media.Quad) boxNumbers {
			x, y := q.Center()
			w, h := q.Sides()
			return boxNumbers{x, y, w, h, q.Angle()}
		}},
	"XYXYXYXY": {numbers: 8,
		corners: func(v boxNumbers) media.Quad {
			return media.Quad{{v[0], v[1]}, {v[2], v[3]}, {v[4], v[5]}, {v[6], v[7]}}
		},
		ofCorners: func(q media.Quad) boxNumbers {
			return boxNumbers{q[0][0], q[0][1], q[1][0], q[1][1], q[2][0], q[2][1], q[3][0], q[3][1]}
		}},
}

// leastSide is what has to be left of a box in width and in height, in pixels: one with
// less says nothing to a model, and torchvision's SanitizeBoundingBoxes drops it too.
const leastSide = 1

// moved moves a box as a plan has moved the pixels, and reports whether it stays. One
// that has no numbers does not.
func (f *boxFormat) moved(box boxNumbers, plan *media.Plan, from int) (boxNumbers, bool) {
	if f.corners == nil {
		b := plan.Moved(f.edges(box), from)
		return f.ofEdges(b), b.X1-b.X0 >= leastSide && b.Y1-b.Y0 >= leastSide
	}
	q := plan.MovedTurned(f.corners(box), from)
	w, h := q.Sides()
	return f.ofCorners(q), w >= leastSide && h >= leastSide
}

// bounds are the edges of a box, or of the upright one around it.
func (f *boxFormat) bounds(box boxNumbers) media.Bounds {
	if f.corners == nil {
		return f.edges(box)
	}
	q := f.corners(box)
	return q.Around()
}
