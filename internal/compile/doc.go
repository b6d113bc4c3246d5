// Package compile makes a pipeline of a plan.
//
// [Compile] goes along the plan once. It gives every field of a sample its column, makes
// lines of stages of the steps, with what is done about failures around each operation,
// and joins them to a flow of the engine that fills batches. What else it finds out about
// the recipe is in [Program].
package compile
