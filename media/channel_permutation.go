package media

import "fmt"

// RandomChannelPermutation has the colours of an image change places: each order of red,
// green and blue is as likely, the one that there is included. Alpha stays, and so does a
// gray image.
type RandomChannelPermutation struct{}

// Check implements [Op].
func (o RandomChannelPermutation) Check() error { return nil }

// Result tells the form after the operation.
func (o RandomChannelPermutation) Result(in Form) (Form, error) {
	return in, in.checkByteColors("random_channel_permutation")
}

func (o RandomChannelPermutation) name() string { return "random_channel_permutation" }

var channelOrders = [6][3]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}

// place uses draw 0.
func (o RandomChannelPermutation) place(p *Plan, id uint64, r Rand) error {
	order := channelOrders[below(r.Float64(id, 0), len(channelOrders))]
	if p.tells() {
		p.tell(map[string]any{"order": channelNames(order)})
	}
	p.permute(order)
	return nil
}

func channelNames(order [3]int) []string {
	names := [...]string{"red", "green", "blue"}
	return []string{names[order[0]], names[order[1]], names[order[2]]}
}

// permute has channels change places.
func (p *Plan) permute(order [3]int) {
	if order != channelOrders[0] {
		p.pass(Pass{Effect: &permuteChannels, Args: Args{float32(order[0]), float32(order[1]), float32(order[2])}})
	}
}

// permuteChannels has the channels that become the first, second and third as its
// numbers.
var permuteChannels = Effect{
	Name:  "channel_permutation",
	Check: checkBytes("channel_permutation", checkOrder),
	Apply: func(a *Args, p Pixels) Pixels {
		if p.colors() < 3 {
			return p
		}
		n, i, j, k := p.Color.Channels(), int(a[0]), int(a[1]), int(a[2])
		for y := range p.Height {
			for row := p.Row(y); len(row) > 0; row = row[n:] {
				row[0], row[1], row[2] = row[i], row[j], row[k]
			}
		}
		return p
	},
}

func checkOrder(a *Args) error {
	for _, order := range channelOrders {
		if [3]float32{float32(order[0]), float32(order[1]), float32(order[2])} == [3]float32(a[:3]) {
			return nil
		}
	}
	return fmt.Errorf("%w: channels in the order %v", ErrGeometry, a[:3])
}
