import type { LabelSelector } from '#operator/model/selector.ts'
import { type Manifest, nameOf, type Rule } from './manifest.ts'
import { type Running, running, selected } from './workload.ts'

const budgetsOf = (objects: readonly Manifest[]) =>
  objects
    .filter(({ kind }) => kind === 'PodDisruptionBudget')
    .map((budget) => ({
      name: nameOf(budget),
      pods: selected(running(objects), (budget.spec as { selector: LabelSelector }).selector),
    }))

const isSeveral = ({ workload, isScaled }: Running): boolean => isScaled || (workload.replicas ?? 1) > 1

/** With one replica a budget would keep every node from being drained. */
export const budgetsLeaveRoom: Rule = (objects) =>
  budgetsOf(objects).flatMap(({ name, pods }) =>
    pods
      .filter((one) => !isSeveral(one))
      .map((one) => `${name}: ${one.name} has one replica, so no node could be drained`),
  )

/** A node that is drained takes one of several at a time. */
export const severalHaveABudget: Rule = (objects) => {
  const budgeted = budgetsOf(objects).flatMap(({ pods }) => pods.map(({ name }) => name))
  return running(objects)
    .filter((one) => isSeveral(one) && !budgeted.includes(one.name))
    .map(({ name }) => `${name}: it has several replicas, so give it a PodDisruptionBudget`)
}
