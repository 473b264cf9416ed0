package temporaltest

import (
	"time"

	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
)

// Environment returns a test environment for workflows, in a suite that set has changed. A busy machine can stop a workflow
// for longer than the second after which the SDK would take it for a deadlock, and an activity for longer than its three.
func Environment(set ...func(*testsuite.WorkflowTestSuite)) *testsuite.TestWorkflowEnvironment {
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(Quiet{})
	for _, f := range set {
		f(&suite)
	}
	e := suite.NewTestWorkflowEnvironment()
	e.SetTestTimeout(5 * time.Minute)
	e.SetWorkerOptions(worker.Options{DeadlockDetectionTimeout: time.Minute})
	return e
}
