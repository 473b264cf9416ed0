// Package client stands in for the client of worker controllers, with which Temporal's server starts
// workers in a cloud as their queue grows. This engine has no controller: none is found, and none can
// be set up.
package client

import (
	"context"

	"go.temporal.io/api/deployment/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/auto-scaled-workers/wci/workflow/iface"
	"go.temporal.io/server/common/namespace"
	"go.uber.org/fx"
)

// Module provides Client. It registers no hook with the task queues.
var Module = fx.Provide(func() Client { return none{} })

type Client interface {
	DescribeWorkerControllerInstance(context.Context, *namespace.Namespace, *deployment.WorkerDeploymentVersion) (
		*iface.QueryDescribeWorkerControllerInstanceResponse, []byte, error)
	UpdateWorkerControllerInstance(ctx context.Context, ns *namespace.Namespace, version *deployment.WorkerDeploymentVersion,
		token []byte, identity string, upsert map[string]iface.ScalingGroupSpecUpdate, remove []string) (
		*iface.UpdateWorkerControllerInstanceResponse, error)
	ValidateWorkerControllerInstanceSpec(ctx context.Context, ns *namespace.Namespace, version *deployment.WorkerDeploymentVersion,
		identity string, upsert map[string]iface.ScalingGroupSpecUpdate, remove []string) error
	DeleteWorkerControllerInstance(ctx context.Context, ns *namespace.Namespace, version *deployment.WorkerDeploymentVersion,
		identity string) error
}

type none struct{}

// DescribeWorkerControllerInstance returns NotFound, which the server expects of a deployment without
// a controller.
func (none) DescribeWorkerControllerInstance(context.Context, *namespace.Namespace, *deployment.WorkerDeploymentVersion) (
	*iface.QueryDescribeWorkerControllerInstanceResponse, []byte, error) {
	return nil, nil, serviceerror.NewNotFound("the deployment has no worker controller")
}

func (none) UpdateWorkerControllerInstance(context.Context, *namespace.Namespace, *deployment.WorkerDeploymentVersion,
	[]byte, string, map[string]iface.ScalingGroupSpecUpdate, []string) (*iface.UpdateWorkerControllerInstanceResponse, error) {
	return nil, refused()
}

func (none) ValidateWorkerControllerInstanceSpec(context.Context, *namespace.Namespace, *deployment.WorkerDeploymentVersion,
	string, map[string]iface.ScalingGroupSpecUpdate, []string) error {
	return refused()
}

// DeleteWorkerControllerInstance has nothing to delete. A deployment version without a controller can
// be deleted.
func (none) DeleteWorkerControllerInstance(context.Context, *namespace.Namespace, *deployment.WorkerDeploymentVersion, string) error {
	return nil
}

// refused returns InvalidArgument. The server does not repeat a call that ends with it.
func refused() error {
	return serviceerror.NewInvalidArgument("Ratchet's engine starts no workers: it is built without worker controllers")
}
