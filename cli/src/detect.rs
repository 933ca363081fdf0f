//! The policies in a tree: the systems that it is written for, and where each policy stands.

use crate::block::{Block, is_kind};
use crate::formats;
use crate::resilience4j;
use crate::system::{CONFIGURATIONS, System};
use crate::tree::{Data, Field, Node, joined, walk, with};
use holdoff_core::Form;
use std::rc::Rc;

/// The policies of a document. Without a form its shape says which systems it is written for.
pub(crate) fn blocks(document: &Rc<Node>, system: Option<System>) -> Vec<Block> {
    let mut found = Vec::new();
    let list = document.get("items").filter(|_| document.get("kind").and_then(|kind| kind.text()) == Some("List"));
    match list {
        Some(items) => {
            for (index, item) in items.items().iter().enumerate() {
                let before = found.len();
                of_resource(item, system, &mut found);
                for block in &mut found[before..] {
                    block.path = joined(&format!("items[{index}]"), &block.path);
                }
            }
        }
        None => of_resource(document, system, &mut found),
    }
    found
}

/// True if a document is written for a system.
type HasShape = fn(&Rc<Node>) -> bool;
/// Adds the policies of a document.
type Find = fn(&Rc<Node>, &mut Vec<Block>);

const fn core(form: Form, has_shape: HasShape, find: Find) -> (System, HasShape, Find) {
    (System::Core(form), has_shape, find)
}

/// A reader of retries that are not those of calls: the storm lab has no room for them, and could not draw them.
const fn of_jobs(system: System, has_shape: HasShape, find: Find) -> (System, HasShape, Find) {
    if CONFIGURATIONS { (system, has_shape, find) } else { (system, |_| false, |_, _| {}) }
}

/// The systems that are looked for, each with the shape of its files.
const SHAPES: [(System, HasShape, Find); 13] = [
    core(Form::Grpc, |root| root.get("methodConfig").is_some_and(|list| matches!(list.data, Data::List(_))), grpc),
    core(Form::StepFunctions, |_| true, step_functions),
    core(Form::ServerlessWorkflow, |root| root.at(&["document", "dsl"]).is_some(), serverless_workflow),
    core(Form::Dapr, |root| is_kind(root, "dapr.io/", &["Resiliency"]), dapr),
    core(
        Form::GatewayApi,
        |root| is_kind(root, "gateway.networking.", &["HTTPRoute", "GRPCRoute", "XBackendTrafficPolicy"]),
        gateway_api,
    ),
    core(Form::Istio, |root| is_kind(root, "networking.istio.io/", &["VirtualService", "DestinationRule"]), istio),
    core(Form::Resilience4j, resilience4j::has_shape, resilience4j::find),
    core(Form::Polly, |_| true, polly),
    (System::Envoy, formats::envoy::has_shape, formats::envoy::find),
    of_jobs(System::KubernetesJob, formats::kubernetes_job::has_shape, formats::kubernetes_job::find),
    of_jobs(System::ArgoWorkflows, formats::argo::has_shape, formats::argo::find),
    of_jobs(System::Lambda, formats::lambda::has_shape, formats::lambda::find),
    of_jobs(System::Sqs, |_| true, formats::sqs::find),
];

/// The policies of a text that is no tree by itself, and that only one system reads.
pub(crate) fn blocks_of(system: System, root: &Rc<Node>) -> Vec<Block> {
    let mut found = Vec::new();
    match system {
        System::Haproxy if CONFIGURATIONS => formats::haproxy::find(root, &mut found),
        System::Nginx if CONFIGURATIONS => formats::nginx::find(root, &mut found),
        System::AwsConfig if CONFIGURATIONS => formats::aws_config::find(root, &mut found),
        _ => {}
    }
    found
}

fn of_resource(root: &Rc<Node>, system: Option<System>, found: &mut Vec<Block>) {
    let before = found.len();
    for (known, has_shape, find) in SHAPES {
        if system.map_or_else(|| has_shape(root), |system| system == known) {
            find(root, found);
        }
    }
    // A file in a form that a person names may be the policy itself, unless it is one without policies.
    let is_whole = |system| SHAPES.iter().any(|shape| shape.0 == system && shape.1(root));
    if let (Some(System::Core(form)), true) = (system, found.len() == before)
        && (matches!(form, Form::StepFunctions | Form::Polly) || !is_whole(System::Core(form)))
    {
        found.push(Block::of(form, root));
    }
    let resource = root.at(&["metadata", "name"]).and_then(|name| name.text());
    for block in found.iter_mut().skip(before) {
        block.resource = resource.map(str::to_owned);
    }
}

/// The items of a list at `path` that hold a policy.
fn items(form: Form, root: &Rc<Node>, path: &[&str], holds: fn(&Rc<Node>) -> bool, found: &mut Vec<Block>) {
    let (Some(list), Some(last)) = (root.at(path), path.last()) else { return };
    for (index, node) in list.items().iter().enumerate().filter(|(_, node)| holds(node)) {
        let (name, entry) = (format!("{last}[{index}]"), Some(index as u32));
        let path = format!("{}[{index}]", path.join("."));
        found.push(Block { name, entry, path, ..Block::of(form, node) });
    }
}

/// The fields of an object at `path`, each with a policy.
fn members(form: Form, root: &Rc<Node>, path: &[&str], found: &mut Vec<Block>) {
    let (Some(object), Some(last)) = (root.at(path), path.last()) else { return };
    for (index, Field { name, value, .. }) in object.fields().iter().enumerate() {
        let (path, name) = (format!("{}.{name}", path.join(".")), format!("{last}.{name}"));
        found.push(Block { name, entry: Some(index as u32), path, ..Block::of(form, value) });
    }
}

fn field(root: &Rc<Node>, name: &str) -> Option<Field> {
    root.fields().iter().find(|field| field.name == name).cloned()
}

fn grpc(root: &Rc<Node>, found: &mut Vec<Block>) {
    let before = found.len();
    let holds = |node: &Rc<Node>| node.get("retryPolicy").is_some() || node.get("hedgingPolicy").is_some();
    items(Form::Grpc, root, &["methodConfig"], holds, found);
    for block in found.iter_mut().skip(before) {
        let method = block.node.get("name").and_then(|names| names.items().first()).and_then(|name| {
            let (service, method) = (name.get("service")?.text()?, name.get("method").and_then(|method| method.text()));
            Some(method.map_or_else(|| service.to_owned(), |method| format!("{service}.{method}")))
        });
        block.name = method.unwrap_or_else(|| std::mem::take(&mut block.name));
        block.node = with(&block.node, field(root, "retryThrottling"));
    }
}

/// States at any depth: those of a Map and of the branches of a Parallel have a machine inside.
fn step_functions(root: &Rc<Node>, found: &mut Vec<Block>) {
    let before = found.len();
    walk(root, "", &mut |node, path| {
        let Some(states) = node.get("States").filter(|_| node.get("StartAt").is_some()) else { return };
        for Field { name, value, .. } in states.fields() {
            if value.get("Retry").is_some_and(|retry| !retry.items().is_empty()) {
                let path = joined(path, &format!("States.{name}"));
                let name = format!("States.{name}");
                found.push(Block { name, path, ..Block::of(Form::StepFunctions, value) });
            }
        }
    });
    for (index, block) in found.iter_mut().skip(before).enumerate() {
        block.entry = Some(index as u32);
    }
}

fn serverless_workflow(root: &Rc<Node>, found: &mut Vec<Block>) {
    members(Form::ServerlessWorkflow, root, &["use", "retries"], found);
    walk(root, "", &mut |node, path| {
        if let Some(retry) = node.at(&["catch", "retry"]).filter(|retry| matches!(retry.data, Data::Object(_))) {
            let (name, path) = (joined(path, "catch.retry"), joined(path, "catch.retry"));
            found.push(Block { name, path, ..Block::of(Form::ServerlessWorkflow, retry) });
        }
    });
}

fn dapr(root: &Rc<Node>, found: &mut Vec<Block>) {
    members(Form::Dapr, root, &["spec", "policies", "retries"], found);
}

fn gateway_api(root: &Rc<Node>, found: &mut Vec<Block>) {
    let before = found.len();
    for path in [&["spec", "rules"][..], &["rules"]] {
        items(Form::GatewayApi, root, path, |rule| rule.get("retry").is_some(), found);
    }
    for block in &mut found[before..] {
        if block.node.get("retry").is_some_and(|retry| retry.fields().is_empty()) {
            block.unknown.push("retry says nothing, so that the gateway decides how often it retries".to_owned());
        }
        block.node = without_empty(&block.node);
    }
    if let Some(spec) = root.get("spec").filter(|spec| spec.get("retryConstraint").is_some()) {
        found.push(Block { path: "spec".to_owned(), ..Block::of(Form::GatewayApi, spec) });
    }
}

/// An object without the fields that are empty objects.
fn without_empty(node: &Rc<Node>) -> Rc<Node> {
    let is_full = |field: &&Field| !matches!(&field.value.data, Data::Object(fields) if fields.is_empty());
    let fields = node.fields().iter().filter(is_full).cloned().collect();
    Rc::new(Node { span: node.span.clone(), data: Data::Object(fields) })
}

fn istio(root: &Rc<Node>, found: &mut Vec<Block>) {
    for path in [&["spec", "http"][..], &["http"]] {
        items(Form::Istio, root, path, |route| route.get("retries").is_some() || route.get("timeout").is_some(), found);
    }
    // Without a number there are none.
    for block in found.iter_mut() {
        let empty = field(&block.node, "retries").filter(|field| field.value.fields().is_empty());
        if let Some(Field { at, value, .. }) = empty {
            let span = value.span.clone();
            let none = Rc::new(Node { span: span.clone(), data: Data::Number(0.0) });
            let attempts = vec![Field { name: "attempts".to_owned(), at: at.clone(), value: none }];
            let retries = Rc::new(Node { span, data: Data::Object(attempts) });
            block.node = with(&without_empty(&block.node), [Field { name: "retries".to_owned(), at, value: retries }]);
        }
    }
    let limits = |node: &Rc<Node>| {
        let policy = node.get("trafficPolicy")?;
        policy.get("retryBudget").or_else(|| policy.at(&["connectionPool", "http", "maxRetries"])).map(|_| ())
    };
    let Some(spec) = root.get("spec") else { return };
    if limits(spec).is_some() {
        found.push(Block { path: "spec".to_owned(), ..Block::of(Form::Istio, spec) });
    }
    items(Form::Istio, spec, &["subsets"], |_| true, found);
    found.retain(|block| !block.path.starts_with("subsets") || limits(&block.node).is_some());
    for block in found.iter_mut().filter(|block| block.path.starts_with("subsets")) {
        block.path = joined("spec", &block.path);
    }
}

/// Pipelines at any depth.
fn polly(root: &Rc<Node>, found: &mut Vec<Block>) {
    let before = found.len();
    walk(root, "", &mut |node, path| {
        const OWN: [&str; 6] =
            ["maxretryattempts", "backofftype", "usejitter", "maxdelay", "shouldretryafterheader", "delay"];
        let is_own = |field: &Field| OWN.contains(&field.name.to_ascii_lowercase().as_str());
        let retry = node.get("Retry").filter(|retry| retry.fields().iter().any(is_own));
        if retry.is_some() {
            const PIPELINE: [&str; 4] = ["Retry", "AttemptTimeout", "TotalRequestTimeout", "CircuitBreaker"];
            let fields =
                node.fields().iter().filter(|field| PIPELINE.iter().any(|own| own.eq_ignore_ascii_case(&field.name)));
            let node = Rc::new(Node { span: node.span.clone(), data: Data::Object(fields.cloned().collect()) });
            let (name, path) = (path.to_owned(), path.to_owned());
            found.push(Block { name, path, ..Block::of(Form::Polly, &node) });
        }
    });
    for (index, block) in found.iter_mut().skip(before).enumerate() {
        block.entry = Some(index as u32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::yaml::yaml;

    /// The policies of a text of one document: the system, the name, the index and the path of each.
    fn found(text: &str, system: Option<System>) -> Vec<String> {
        let documents = yaml(text).unwrap_or_else(|broken| panic!("{}: {text}", broken.words));
        let all = documents.iter().flat_map(|document| blocks(document, system));
        let entry = |block: &Block| block.entry.map_or("-".to_owned(), |entry| entry.to_string());
        all.map(|block| format!("{} {} {} {}", block.system.name(), block.name, entry(&block), block.path)).collect()
    }

    #[test]
    fn a_shape_says_the_system() {
        for (text, expected) in [
            (
                "methodConfig: [{name: [{service: pay.Pay, method: Charge}], retryPolicy: {}}, {timeout: 1s}, {hedgingPolicy: {}}]",
                &["grpc pay.Pay.Charge 0 methodConfig[0]", "grpc methodConfig[2] 2 methodConfig[2]"][..],
            ),
            (
                "StartAt: A\nStates: {A: {Type: Map, ItemProcessor: {StartAt: B, States: {B.1: {Retry: [{}]}}}}, C: {Retry: [{}]}, D: {Retry: []}}",
                &[
                    "step-functions States.C 0 States.C",
                    "step-functions States.B.1 1 States.A.ItemProcessor.States.B.1",
                ],
            ),
            (
                "document: {dsl: 1.0.0}\nuse: {retries: {a: {}}}\ndo: [{t: {catch: {retry: {}}}}, {u: {catch: {retry: a}}}]",
                &[
                    "serverless-workflow retries.a 0 use.retries.a",
                    "serverless-workflow do[0].t.catch.retry - do[0].t.catch.retry",
                ],
            ),
            (
                "apiVersion: dapr.io/v1alpha1\nkind: Resiliency\nspec: {policies: {retries: {a: {}, b: {}}}}",
                &["dapr retries.a 0 spec.policies.retries.a", "dapr retries.b 1 spec.policies.retries.b"],
            ),
            (
                "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nspec: {rules: [{}, {retry: {}}]}",
                &["gateway-api rules[1] 1 spec.rules[1]"],
            ),
            (
                "apiVersion: networking.istio.io/v1\nkind: VirtualService\nspec: {http: [{timeout: 1s}, {}, {retries: {}}]}",
                &["istio http[0] 0 spec.http[0]", "istio http[2] 2 spec.http[2]"],
            ),
            (
                "apiVersion: networking.istio.io/v1\nkind: DestinationRule\nspec: {subsets: [{}, {trafficPolicy: {retryBudget: {}}}]}",
                &["istio subsets[1] 1 spec.subsets[1]"],
            ),
            (
                "resilience4j: {retry: {instances: {a: {}}}}",
                &["resilience4j instances.a 0 resilience4j.retry.instances.a"],
            ),
            (
                "Http: {Retry: {MaxRetryAttempts: 3}, AttemptTimeout: {}}\nOther: {Retry: {Times: 3}}",
                &["polly Http 0 Http"],
            ),
            (
                "virtual_hosts: [{routes: [{route: {cluster: a, retry_policy: {}}}]}]",
                &["envoy virtual_hosts[0].routes[0] 0 virtual_hosts[0].routes[0].route"],
            ),
            (
                "apiVersion: batch/v1\nkind: CronJob\nspec: {jobTemplate: {spec: {}}}",
                &["kubernetes-job  - spec.jobTemplate.spec"],
            ),
            (
                "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nspec: {templates: [{name: a, retryStrategy: {}}, {name: b}]}",
                &["argo-workflows a 0 spec.templates[0]"],
            ),
            ("service: a\nfunctions: {f: {maximumRetryAttempts: 0}, g: {}}", &["lambda f 0 functions.f"]),
            (
                "Resources: {Q: {Type: 'AWS::SQS::Queue', Properties: {RedrivePolicy: {maxReceiveCount: 3}}}}",
                &["sqs Q 0 Resources.Q.Properties"],
            ),
        ] {
            assert_eq!(found(text, None), expected, "{text}");
        }
    }

    #[test]
    fn other_files_have_no_policy() {
        for text in [
            "retry: 3",
            "retries: {attempts: 3}",
            "jobs: {test: {steps: [{uses: nick-fields/retry, with: {max_attempts: 3}}]}}",
            "apiVersion: v1\nkind: ConfigMap\ndata: {retries: '3'}",
            "apiVersion: argoproj.io/v1alpha1\nkind: Sensor\nspec: {triggers: [{retryStrategy: {steps: 3}}]}",
            "apiVersion: apps/v1\nkind: Deployment\nspec: {backoffLimit: 3}",
            "States: {A: {Retry: [{}]}}",
            "retry_policy: {num_retries: 3}",
            "functions: {f: {maximumRetryAttempts: 1}}",
            "Type: AWS::SQS::Queue",
            "Retry: {Times: 3}",
            "[]",
            "3",
        ] {
            assert_eq!(found(text, None), <[&str; 0]>::default(), "{text}");
        }
    }

    #[test]
    fn items_of_a_list_are_resources() {
        let route = "{apiVersion: networking.istio.io/v1, kind: VirtualService, metadata: {name: NAME}, spec: {http: [{timeout: 1s}]}}";
        let text = format!("kind: List\nitems: [{}, {{}}, {}]", route.replace("NAME", "a"), route.replace("NAME", "b"));
        assert_eq!(
            found(&text, None),
            ["istio http[0] 0 items[0].spec.http[0]", "istio http[0] 0 items[2].spec.http[0]"]
        );
        let documents = yaml(&text).unwrap_or_default();
        let names: Vec<_> = blocks(&documents[0], None).into_iter().filter_map(|block| block.resource).collect();
        assert_eq!(names, ["a", "b"]);
    }

    #[test]
    fn a_form_that_is_said_reads_the_policy_itself() {
        let forms = [Form::Temporal, Form::Grpc, Form::Resilience4j, Form::StepFunctions, Form::Polly];
        for form in forms {
            assert_eq!(found("maxAttempts: 3", Some(form.into())), [format!("{}  - ", form.name())]);
        }
        // A resource without a policy is none.
        let rule = "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nspec: {rules: [{}]}";
        assert!(found(rule, Some(Form::GatewayApi.into())).is_empty());
        // The form keeps others out.
        assert_eq!(found("Retry: {MaxRetryAttempts: 3}", Some(Form::Dapr.into())), ["dapr  - "]);
        assert!(found("apiVersion: batch/v1\nkind: Job\nspec: {}", Some(System::Sqs)).is_empty());
    }
}
