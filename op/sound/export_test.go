package sound

import "github.com/headrace/headrace/order"

// Stretch draws a mask of one axis.
func Stretch(most, size int, chance order.Key) (from, to int) {
	share := 1.0
	return (&masking{args: &SpecAugment{P: &share}, id: 1}).stretch(most, size, chance, 0)
}
