// Package sample defines what travels through the engine: a sample of named fields, and
// the schema that describes it.
//
// A [Sample] is an ordered set of values with an identity ([ID]: which source, which
// epoch, which place) and a key, a name for people. The names and types of its values
// are once, in the [Schema] of the edge it travels on, not in every sample: the
// values of a sample are in the order of that schema.
//
//	s := sample.Schema{{Name: "key", Type: sample.TextType}, {Name: "bytes", Type: sample.BytesType}}
//	s = s.Without("bytes").With("image", sample.TensorType(tensor.Uint8, tensor.Unknown, tensor.Unknown, 3))
//	s.String() // "key text, image uint8 [?, ?, 3]"
//
// # Concurrency
//
// A schema is not changed after it was made: its methods return another one. A sample
// belongs to one goroutine at a time; who sends it gives it away.
package sample
