package main

import (
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/server/common/cluster"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/dynamicconfig"
	sqliteplugin "go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"
	"go.temporal.io/server/common/primitives"
	"go.temporal.io/server/common/testing/freeport"
)

const clusterName = "active"

// searchAttributes returns Ratchet's own search attributes. A new database has them from the start.
func searchAttributes() map[string]enums.IndexedValueType {
	return map[string]enums.IndexedValueType{
		"RatchetTitle":      enums.INDEXED_VALUE_TYPE_KEYWORD,
		"RatchetName":       enums.INDEXED_VALUE_TYPE_KEYWORD,
		"RatchetStatus":     enums.INDEXED_VALUE_TYPE_KEYWORD,
		"RatchetPhase":      enums.INDEXED_VALUE_TYPE_KEYWORD,
		"RatchetRepository": enums.INDEXED_VALUE_TYPE_KEYWORD,
		"RatchetIteration":  enums.INDEXED_VALUE_TYPE_INT,
	}
}

// dynamicConfig returns the server's tuning for one machine and one user.
func dynamicConfig() dynamicconfig.StaticClient {
	// The default of 20 a second makes each step of a workflow wait up to 50 ms.
	const pollsPerSecond = 2000
	return dynamicconfig.StaticClient{
		dynamicconfig.TransferProcessorMaxPollRPS.Key():   pollsPerSecond,
		dynamicconfig.TimerProcessorMaxPollRPS.Key():      pollsPerSecond,
		dynamicconfig.VisibilityProcessorMaxPollRPS.Key(): pollsPerSecond,
		dynamicconfig.OutboundProcessorMaxPollRPS.Key():   pollsPerSecond,
		// A page asks several queries at once. While a task of the workflow is in progress the default keeps one, and refuses
		// the others: the SDK asks again after 400 ms.
		dynamicconfig.MaxBufferedQueryCount.Key(): 100,
		// A cancel reaches an activity at once, and not only with its next heartbeat.
		dynamicconfig.WorkerCommandsEnabled.Key():             true,
		dynamicconfig.EnableCancelActivityWorkerCommand.Key(): true,
		dynamicconfig.EnableEagerWorkflowStart.Key():          true,
		dynamicconfig.EnableActivityEagerExecution.Key():      true,
		dynamicconfig.WorkflowPauseEnabled.Key():              true,
		// The version check is the only call that would leave the machine.
		dynamicconfig.EnableServerVersionCheck.Key(): false,
	}
}

// serverConfig returns the configuration of the server.
func serverConfig(port int, db *config.SQL) *config.Config {
	var c config.Config
	c.Persistence = config.Persistence{
		DefaultStore:     sqliteplugin.PluginName,
		VisibilityStore:  sqliteplugin.PluginName,
		NumHistoryShards: 1,
		DataStores:       map[string]config.DataStore{sqliteplugin.PluginName: {SQL: db}},
	}
	c.ClusterMetadata = &cluster.Config{
		FailoverVersionIncrement: 10,
		MasterClusterName:        clusterName,
		CurrentClusterName:       clusterName,
		ClusterInformation: map[string]cluster.ClusterInformation{
			clusterName: {Enabled: true, InitialFailoverVersion: 1, RPCAddress: addressOf(port)},
		},
	}
	c.DCRedirectionPolicy.Policy = "noop"
	c.Archival.History.State = "disabled"
	c.Archival.Visibility.State = "disabled"
	c.NamespaceDefaults.Archival.History.State = "disabled"
	c.NamespaceDefaults.Archival.Visibility.State = "disabled"
	c.Services = map[string]config.Service{
		string(primitives.FrontendService): service(port),
		string(primitives.HistoryService):  service(freeport.MustGetFreePort()),
		string(primitives.MatchingService): service(freeport.MustGetFreePort()),
		string(primitives.WorkerService):   service(freeport.MustGetFreePort()),
	}
	c.PublicClient.HostPort = addressOf(port)
	return &c
}

func service(port int) config.Service {
	return config.Service{RPC: config.RPC{GRPCPort: port, BindOnIP: loopback}}
}
