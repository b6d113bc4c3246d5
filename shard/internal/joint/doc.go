// Package joint reads the layout that the shards of MDS and the chunks of LitData share:
// how many samples there are, the offsets of their beginnings and of the end, and then
// samples, each of which is the lengths of its values and the values.
package joint
