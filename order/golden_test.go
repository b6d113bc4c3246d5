package order_test

import (
	"slices"
	"testing"

	"github.com/headrace/headrace/order"
)

// These are what saved states rely on. If a change makes this test fail, order.Version
// must change with it, and the numbers here.
func TestGoldenVectorsOfVersion3(t *testing.T) {
	if order.Version != 3 {
		t.Fatalf("these are the vectors of version 3, not %d", order.Version)
	}
	for _, c := range []struct {
		n     int64
		seed  uint64
		epoch int
		want  []int64
	}{
		{1, 0, 0, []int64{0}},
		{2, 0, 0, []int64{1, 0}},
		{7, 1, 0, []int64{4, 2, 3, 5, 0, 1, 6}},
		{256, 42, 1, []int64{10, 5, 99, 174, 15, 163, 121, 140}},
		{257, 42, 1, []int64{13, 30, 165, 142, 188, 103, 73, 214}},
		{1000, 0, 0, []int64{565, 285, 98, 594, 407, 225, 933, 370}},
		{1000, 0, 1, []int64{130, 167, 393, 872, 216, 197, 730, 75}},
		{1281167, 18446744073709551615, 90, []int64{1110604, 371267, 494532, 831931, 1213644, 732996, 808478, 202841}},
		{1000000000000, 7, -1, []int64{587103279232, 17121285358, 650573126881, 711905395720}},
	} {
		p := order.Permute(c.n, c.seed, c.epoch)
		var got []int64
		for i := range int64(len(c.want)) {
			got = append(got, p.At(i))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("Permute(%d, %d, %d) begins %v, want %v", c.n, c.seed, c.epoch, got, c.want)
		}
	}
	k := order.NewKey(42, 3, order.SourceID("files"), 17)
	var got []uint64
	for draw := range uint32(3) {
		got = append(got, k.Uint64(order.OpID("random_resized_crop"), draw), k.Uint64(order.OpID("random_flip_2"), draw))
	}
	want := []uint64{0x3f050401cdeef0f1, 0x8bc8f089bc8dee7c, 0xf1bc5d6cf1eb2ede, 0x4ae4be36d5c54252, 0x87580e68a1bd5538, 0xaf4e34af27c6ae25}
	if !slices.Equal(got, want) {
		t.Errorf("the draws are %#v, want %#v", got, want)
	}
	if got := k.Output(3).Output(1).Uint64(order.OpID("random_flip_2"), 0); got != 0x8c42a4d8dfcb81e2 {
		t.Errorf("an output's draw is %#x", got)
	}
	if got := order.OpID("random_flip_2"); got != 0xbfdabebdf143c4d9 {
		t.Errorf("OpID is %#x", got)
	}
}
