// Cluster API's infrastructure provider "dev" with its machines in memory. Upstream's own program serves the clusters that it plays on ports
// that are the same on every machine; here they are given, so that several may run beside each other, and beside other servers.
package main

import (
	"context"
	"flag"
	"os"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/cluster-api/controllers/remote"
	"sigs.k8s.io/cluster-api/feature"
	"sigs.k8s.io/cluster-api/test/infrastructure/container"
	infrav1 "sigs.k8s.io/cluster-api/test/infrastructure/docker/api/v1beta2"
	"sigs.k8s.io/cluster-api/test/infrastructure/docker/controllers"
	infrawebhooks "sigs.k8s.io/cluster-api/test/infrastructure/docker/webhooks"
	cloudv1 "sigs.k8s.io/cluster-api/test/infrastructure/inmemory/pkg/cloud/api/v1alpha1"
	inmemoryruntime "sigs.k8s.io/cluster-api/test/infrastructure/inmemory/pkg/runtime"
	inmemoryserver "sigs.k8s.io/cluster-api/test/infrastructure/inmemory/pkg/server"
)

const name = "dev-infrastructure"

var (
	webhookPort    = flag.Int("webhook-port", 9443, "where the webhooks are served")
	webhookCertDir = flag.String("webhook-cert-dir", "", "the folder of their tls.crt and tls.key")
	healthAddr     = flag.String("health-addr", "", "where /readyz is served")
	clusterPort    = flag.Int("cluster-port", inmemoryserver.DefaultMinPort, "of the first cluster; each further one has the next")
	debugPort      = flag.Int("debug-port", inmemoryserver.DefaultDebugPort, "where the provider tells which clusters there are")
)

// schemeOf has all types of these packages.
func schemeOf(adders ...func(*runtime.Scheme) error) *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range adders {
		must(add(scheme), "knowing the types")
	}
	return scheme
}

func main() {
	flag.Parse()
	ctrl.SetLogger(klog.Background())
	ctx := ctrl.SetupSignalHandler()
	must(feature.MutableGates.Set("ClusterTopology=true"), "allowing classes of clusters")
	mgr, err := ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{
		Scheme: schemeOf(corev1.AddToScheme, apiextensionsv1.AddToScheme, infrav1.AddToScheme, clusterv1.AddToScheme),
		Client: client.Options{Cache: &client.CacheOptions{
			DisableFor:   []client.Object{&corev1.ConfigMap{}, &corev1.Secret{}},
			Unstructured: true,
		}},
		Metrics:                metricsserver.Options{BindAddress: "0"},
		HealthProbeBindAddress: *healthAddr,
		WebhookServer:          webhook.NewServer(webhook.Options{Host: "127.0.0.1", Port: *webhookPort, CertDir: *webhookCertDir}),
	})
	must(err, "making the manager")
	must(mgr.AddReadyzCheck("webhook", mgr.GetWebhookServer().StartedChecker()), "adding the probe")
	must(setUp(ctx, mgr), "setting up")
	must(mgr.Start(ctx), "running")
}

func setUp(ctx context.Context, mgr ctrl.Manager) error {
	// It is asked for, and never called: no machine is a container.
	docker, err := container.NewDockerClient()
	if err != nil {
		return err
	}
	cache, err := clustercache.SetupWithManager(ctx, mgr, clustercache.Options{
		SecretClient: mgr.GetClient(),
		Client: clustercache.ClientOptions{
			UserAgent: remote.DefaultClusterAPIUserAgent(name),
			Cache:     clustercache.ClientCacheOptions{DisableFor: []client.Object{&corev1.ConfigMap{}, &corev1.Secret{}}},
		},
	}, controller.Options{MaxConcurrentReconciles: 10})
	if err != nil {
		return err
	}
	memory := inmemoryruntime.NewManager(schemeOf(
		cloudv1.AddToScheme, corev1.AddToScheme, appsv1.AddToScheme, rbacv1.AddToScheme, storagev1.AddToScheme,
		apiextensionsv1.AddToScheme, policyv1.AddToScheme,
	))
	if err := memory.Start(ctx); err != nil {
		return err
	}
	clusters, err := inmemoryserver.NewWorkloadClustersMux(memory, os.Getenv("POD_IP"), inmemoryserver.CustomPorts{
		MinPort: int32(*clusterPort), MaxPort: int32(*clusterPort) + 1000, DebugPort: int32(*debugPort),
	})
	if err != nil {
		return err
	}

	type setup interface {
		SetupWithManager(context.Context, ctrl.Manager, controller.Options) error
	}
	for _, reconciler := range []setup{
		&controllers.DevClusterReconciler{Client: mgr.GetClient(), ContainerRuntime: docker, InMemoryManager: memory, APIServerMux: clusters},
		&controllers.DevMachineReconciler{Client: mgr.GetClient(), ContainerRuntime: docker, ClusterCache: cache, InMemoryManager: memory, APIServerMux: clusters},
		&controllers.DevMachineTemplateReconciler{Client: mgr.GetClient(), ContainerRuntime: docker},
	} {
		if err := reconciler.SetupWithManager(ctx, mgr, controller.Options{MaxConcurrentReconciles: 10}); err != nil {
			return err
		}
	}
	type hook interface{ SetupWebhookWithManager(ctrl.Manager) error }
	for _, one := range []hook{
		&infrawebhooks.DevCluster{}, &infrawebhooks.DevClusterTemplate{}, &infrawebhooks.DevMachine{}, &infrawebhooks.DevMachineTemplate{},
	} {
		if err := one.SetupWebhookWithManager(mgr); err != nil {
			return err
		}
	}
	return nil
}

func must(err error, doing string) {
	if err != nil {
		ctrl.Log.Error(err, "Failed", "doing", doing)
		os.Exit(1)
	}
}
