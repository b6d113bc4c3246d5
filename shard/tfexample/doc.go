// Package tfexample reads the features of TensorFlow's messages tf.train.Example, and the
// context of tf.train.SequenceExample, as fields of a sample.
//
// A record is walked once, whichever of its features are wanted. It has these fields:
//
//   - bytes_list of one value: bytes, or text where a user says so, or an array of the type
//     that a user says, whose elements these bytes are;
//   - int64_list of one value: int64, and of others: int64 [?]; a user may say any type of
//     whole numbers that the values fit into, and a shape;
//   - float_list: float32, or float64.
//
// A bytes_list of several values is a list of text where a user says so, and otherwise no
// field: samples have one value of each name. A record that is no Example, or has no
// feature, is the field "record": bytes, or elements of an array.
package tfexample
