// Package dumpable closes this process to other processes of the same user. On Linux it protects
// the environment, memory and descriptors, and prevents tracing. It does not keep out root or a
// process with the capability to trace. Elsewhere the package does nothing.
//
// It imports no more than package supervisor may.
package dumpable
