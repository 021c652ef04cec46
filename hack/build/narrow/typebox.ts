/**
 * Nothing: in the bundle, `muster crds` prints the generated CRDs, so the functions under apis/ that describe kinds with TypeBox are
 * never called. They stay in files that controllers need for the kinds' names, and would bring the library into every process.
 */
export default undefined
