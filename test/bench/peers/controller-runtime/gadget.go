package main

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/scheme"
)

// The kind is declared by test/bench/gadget.ts; these are its Go types, with the deep copies that controller-gen would write.
var (
	groupVersion  = schema.GroupVersion{Group: "bench.muster.io", Version: "v1"}
	schemeBuilder = (&scheme.Builder{GroupVersion: groupVersion}).Register(&Gadget{}, &GadgetList{})
)

type GadgetSpec struct {
	Size    int64             `json:"size"`
	Payload map[string]string `json:"payload,omitempty"`
}

type GadgetStatus struct {
	ObservedGeneration int64              `json:"observedGeneration,omitempty"`
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
}

type Gadget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              GadgetSpec   `json:"spec,omitempty"`
	Status            GadgetStatus `json:"status,omitempty"`
}

type GadgetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Gadget `json:"items"`
}

func (in *Gadget) DeepCopy() *Gadget {
	out := &Gadget{TypeMeta: in.TypeMeta, Spec: GadgetSpec{Size: in.Spec.Size}, Status: in.Status}
	in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	if in.Spec.Payload != nil {
		out.Spec.Payload = make(map[string]string, len(in.Spec.Payload))
		for key, value := range in.Spec.Payload {
			out.Spec.Payload[key] = value
		}
	}
	if in.Status.Conditions != nil {
		out.Status.Conditions = append([]metav1.Condition(nil), in.Status.Conditions...)
	}
	return out
}

func (in *Gadget) DeepCopyObject() runtime.Object { return in.DeepCopy() }

func (in *GadgetList) DeepCopyObject() runtime.Object {
	out := &GadgetList{TypeMeta: in.TypeMeta, Items: make([]Gadget, len(in.Items))}
	in.ListMeta.DeepCopyInto(&out.ListMeta)
	for i := range in.Items {
		out.Items[i] = *in.Items[i].DeepCopy()
	}
	return out
}
