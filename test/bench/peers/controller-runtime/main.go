// The controller-runtime side of the runtime benches: what test/bench/muster/gadget.ts does, as its users would write it.
//
//	MODE=reconcile (default)  finalizer, status Ready for the generation, finalizer removed on delete
//	MODE=cache-whole          only keeps the objects in the cache
//	MODE=cache-projected      the same, with only the metadata's names and labels and the status
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

const finalizer = "bench.muster.io/gadget"

type reconciler struct{ client.Client }

func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var gadget Gadget
	if err := r.Get(ctx, request.NamespacedName, &gadget); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !gadget.DeletionTimestamp.IsZero() {
		before := gadget.DeepCopy()
		if !controllerutil.RemoveFinalizer(&gadget, finalizer) {
			return ctrl.Result{}, nil
		}
		patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
		return ctrl.Result{}, client.IgnoreNotFound(r.Patch(ctx, &gadget, patch))
	}
	if before := gadget.DeepCopy(); controllerutil.AddFinalizer(&gadget, finalizer) {
		patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
		if err := r.Patch(ctx, &gadget, patch); err != nil {
			return ctrl.Result{}, err
		}
	}
	if gadget.Status.ObservedGeneration == gadget.Generation {
		return ctrl.Result{}, nil
	}
	before := gadget.DeepCopy()
	gadget.Status.ObservedGeneration = gadget.Generation
	meta.SetStatusCondition(&gadget.Status.Conditions, metav1.Condition{
		Type:               "Ready",
		Status:             metav1.ConditionTrue,
		Reason:             "Served",
		Message:            fmt.Sprintf("size %d", gadget.Spec.Size),
		ObservedGeneration: gadget.Generation,
	})
	return ctrl.Result{}, r.Status().Patch(ctx, &gadget, client.MergeFrom(before))
}

// project keeps what the projected cache keeps on our side too: see test/bench/muster/gadget.ts.
func project(object any) (any, error) {
	gadget, ok := object.(*Gadget)
	if !ok {
		return object, nil
	}
	return &Gadget{
		TypeMeta: gadget.TypeMeta,
		ObjectMeta: metav1.ObjectMeta{
			Name:              gadget.Name,
			Namespace:         gadget.Namespace,
			UID:               gadget.UID,
			ResourceVersion:   gadget.ResourceVersion,
			Generation:        gadget.Generation,
			Labels:            gadget.Labels,
			DeletionTimestamp: gadget.DeletionTimestamp,
		},
		Status: gadget.Status,
	}, nil
}

func run() error {
	ctrl.SetLogger(logr.Discard())
	mode := os.Getenv("MODE")
	options := cache.Options{DefaultTransform: cache.TransformStripManagedFields()}
	if mode == "cache-projected" {
		options.DefaultTransform = project
	}
	kinds := runtime.NewScheme()
	if err := schemeBuilder.AddToScheme(kinds); err != nil {
		return err
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	config.QPS = -1 // no client-side limit, as on our side
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:  kinds,
		Cache:   options,
		Metrics: server.Options{BindAddress: "0"},
	})
	if err != nil {
		return err
	}
	ctx := ctrl.SetupSignalHandler()
	if mode == "cache-whole" || mode == "cache-projected" {
		go func() {
			if _, err := manager.GetCache().GetInformer(ctx, &Gadget{}); err == nil && manager.GetCache().WaitForCacheSync(ctx) {
				fmt.Println("synced")
			}
		}()
		return manager.Start(ctx)
	}
	err = ctrl.NewControllerManagedBy(manager).
		For(&Gadget{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: 10}).
		Complete(&reconciler{manager.GetClient()})
	if err != nil {
		return err
	}
	go func() {
		if manager.GetCache().WaitForCacheSync(ctx) {
			fmt.Println("synced")
		}
	}()
	return manager.Start(ctx)
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
