//! The services that the policies of a file are about, by the structure of the file around each policy.

use crate::tree::{Field, Node};
use std::ops::Range;
use std::rc::Rc;

/// A part of a file whose retries are those of calls to services.
pub(crate) struct Route {
    /// The bytes of the part.
    pub(crate) span: Range<usize>,
    /// The names of the services, see [`service`].
    pub(crate) services: Vec<String>,
    /// The method that is not idempotent, if the route is for one.
    pub(crate) unsafe_method: Option<String>,
    /// The failures in a row after which a breaker ends the retries of a call, if there is one wherever the policy is used.
    pub(crate) failures: Option<u32>,
}

/// The routes of a file, and the services for which it has a budget of retries.
#[derive(Default)]
pub(crate) struct Services {
    pub(crate) routes: Vec<Route>,
    pub(crate) budgets: Vec<String>,
}

/// Methods after which a server may have done work that must not be done twice.
const UNSAFE: [&str; 2] = ["POST", "PATCH"];
/// The ends of names that say no more than that it is a service.
const ENDS: [&str; 5] = ["service", "client", "api", "svc", "backend"];

impl Services {
    pub(crate) fn of(documents: &[Rc<Node>]) -> Self {
        let mut services = Self::default();
        documents.iter().for_each(|document| services.look(document));
        services.routes.sort_by_key(|route| route.span.start);
        services
    }

    /// The innermost route around a byte.
    pub(crate) fn route_at(&self, at: usize) -> Option<&Route> {
        let before = self.routes.partition_point(|route| route.span.start <= at);
        self.routes.get(..before)?.iter().rev().find(|route| route.span.contains(&at))
    }

    fn look(&mut self, node: &Rc<Node>) {
        match node.get("kind").and_then(|kind| kind.text()) {
            Some("VirtualService") => return self.virtual_service(node),
            Some("HTTPRoute" | "GRPCRoute") => return self.gateway_route(node),
            Some("Resiliency") => return self.dapr(node),
            Some("DestinationRule") => return self.destination_rule(node),
            Some("XBackendTrafficPolicy" | "BackendTrafficPolicy") => return self.traffic_policy(node),
            _ => {}
        }
        let instances = ["resilience4j", "retry", "instances"];
        for field in node
            .at(&instances)
            .into_iter()
            .chain(node.at(&["resilience4j.retry", "instances"]))
            .flat_map(|node| node.fields())
        {
            self.add(whole(field), [field.name.as_str()], None);
        }
        for config in items(node, "methodConfig") {
            let names = items(config, "name").filter_map(|name| name.get("service")?.text());
            // A package begins with its company or its service: `payments.v1.Charge`.
            self.add(
                config.span.clone(),
                names.flat_map(|name| [name.split('.').next(), name.rsplit('.').next()]).flatten(),
                None,
            );
        }
        if let Some(cluster) = node.at(&["route", "cluster"]).and_then(|cluster| cluster.text()) {
            let headers = node.get("match").into_iter().flat_map(|matched| items(matched, "headers"));
            let methods = headers.filter(|header| header.get("name").and_then(|name| name.text()) == Some(":method"));
            let exact = |header: &Rc<Node>| {
                let value = header.get("exact_match").or_else(|| header.at(&["string_match", "exact"]))?;
                value.text().map(str::to_owned)
            };
            let method = methods.filter_map(exact).find(|method| UNSAFE.contains(&&**method));
            return self.add(node.span.clone(), [cluster], method);
        }
        if let Some(address) =
            node.at(&["Parameters", "ApiEndpoint"]).or_else(|| node.at(&["Arguments", "ApiEndpoint"]))
        {
            let host = address.text().and_then(|text| text.split("://").nth(1)?.split(['/', ':']).next());
            return self.add(node.span.clone(), host, None);
        }
        self.proxies(node);
        node.fields().iter().for_each(|field| self.look(&field.value));
        node.items().iter().for_each(|item| self.look(item));
    }

    /// The clusters of Envoy, the backends of HAProxy, and the locations of nginx.
    fn proxies(&mut self, node: &Rc<Node>) {
        let breakers = node.get("circuit_breakers").or_else(|| node.get("circuitBreakers"));
        let mut limits = breakers.into_iter().flat_map(|breakers| items(breakers, "thresholds"));
        let is_limit = |limit: &Rc<Node>| {
            ["retry_budget", "retryBudget", "max_retries", "maxRetries"].iter().any(|name| limit.get(name).is_some())
        };
        if limits.any(is_limit) {
            self.budgets.extend(node.get("name").and_then(|name| service(name.text()?)));
        }
        for field in node.fields() {
            let backend = field.name.strip_prefix("backend ").or_else(|| field.name.strip_prefix("listen "));
            if let Some(name) = backend {
                self.add(whole(field), name.split(' ').next(), None);
            }
        }
        let upstream = ["proxy_pass", "grpc_pass"].iter().find_map(|name| node.get(name)?.text());
        if let Some(upstream) = upstream {
            let host = upstream.split_once("://").map_or(upstream, |(_, host)| host).split(['/', ':', ' ']).next();
            let next = ["proxy_next_upstream", "grpc_next_upstream"].iter().find_map(|name| node.get(name)?.text());
            let is_unsafe = next.is_some_and(|words| words.split(' ').any(|word| word == "non_idempotent"));
            self.add(node.span.clone(), host, is_unsafe.then(|| "POST".to_owned()));
        }
    }

    fn virtual_service(&mut self, node: &Rc<Node>) {
        let Some(spec) = node.get("spec") else { return };
        for route in items(spec, "http") {
            let hosts = items(route, "route").filter_map(|route| route.at(&["destination", "host"])?.text());
            let hosts: Vec<_> = hosts.collect();
            let usual = items(spec, "hosts").filter_map(|host| host.text());
            let hosts = if hosts.is_empty() { usual.collect() } else { hosts };
            let methods = items(route, "match").filter_map(|matched| matched.at(&["method", "exact"])?.text());
            self.add(
                route.span.clone(),
                hosts,
                methods.into_iter().find(|method| UNSAFE.contains(method)).map(str::to_owned),
            );
        }
    }

    fn gateway_route(&mut self, node: &Rc<Node>) {
        for rule in node.get("spec").into_iter().flat_map(|spec| items(spec, "rules")) {
            let names: Vec<_> = items(rule, "backendRefs").filter_map(|backend| backend.get("name")?.text()).collect();
            let methods = items(rule, "matches").filter_map(|matched| matched.get("method")?.text());
            self.add(
                rule.span.clone(),
                names,
                methods.into_iter().find(|method| UNSAFE.contains(method)).map(str::to_owned),
            );
        }
    }

    /// A retry of Dapr is used by the apps, the actors and the components that name it.
    fn dapr(&mut self, node: &Rc<Node>) {
        let fields = |path: &[&str]| node.at(path).map_or(&[][..], |object| object.fields());
        let breakers = fields(&["spec", "policies", "circuitBreakers"]);
        let [apps, actors, components] =
            ["apps", "actors", "components"].map(|group| fields(&["spec", "targets", group]));
        let directions = components.iter().flat_map(|component| component.value.fields());
        let targets: Vec<_> = [apps, actors].into_iter().flatten().chain(directions).collect();
        for retry in fields(&["spec", "policies", "retries"]) {
            let is_used = |value: &Rc<Node>| value.get("retry").and_then(|name| name.text()) == Some(&*retry.name);
            let names = apps.iter().filter(|app| is_used(&app.value)).map(|app| app.name.as_str());
            self.add(whole(retry), names.collect::<Vec<_>>(), None);
            let failures = targets.iter().filter(|target| is_used(&target.value)).map(|target| {
                let name = target.value.get("circuitBreaker")?.text()?;
                failures_of(&breakers.iter().find(|breaker| breaker.name == name)?.value)
            });
            // One use without a breaker has no end.
            let most = failures.reduce(|one, other| Some(one?.max(other?))).flatten();
            if let Some(route) = self.routes.last_mut() {
                route.failures = most;
            }
        }
    }

    fn destination_rule(&mut self, node: &Rc<Node>) {
        let Some(policy) = node.at(&["spec", "trafficPolicy"]) else { return };
        let limit = policy.get("retryBudget").or_else(|| policy.at(&["connectionPool", "http", "maxRetries"]));
        let host = node.at(&["spec", "host"]).and_then(|host| host.text()).filter(|_| limit.is_some());
        self.budgets.extend(host.and_then(service));
    }

    fn traffic_policy(&mut self, node: &Rc<Node>) {
        let Some(spec) = node.get("spec").filter(|spec| spec.get("retryConstraint").is_some()) else { return };
        let names = items(spec, "targetRefs").filter_map(|target| target.get("name")?.text());
        self.budgets.extend(names.filter_map(service));
    }

    fn add<'n>(&mut self, span: Range<usize>, names: impl IntoIterator<Item = &'n str>, unsafe_method: Option<String>) {
        let mut services: Vec<_> = names.into_iter().filter_map(service).collect();
        services.sort_unstable();
        services.dedup();
        self.routes.push(Route { span, services, unsafe_method, failures: None });
    }
}

/// The failures in a row after which a breaker of Dapr opens. It ends the retries of a call then: an open breaker is a permanent error
/// there. `None` for a breaker that need not open.
fn failures_of(breaker: &Node) -> Option<u32> {
    let Some(trip) = breaker.get("trip") else { return Some(6) };
    let words: Vec<_> = trip.text()?.split_whitespace().collect();
    match words[..] {
        ["consecutiveFailures" | "totalFailures", ">=" | "==", count] => count.parse().ok(),
        ["consecutiveFailures" | "totalFailures", ">", count] => count.parse::<u32>().ok()?.checked_add(1),
        _ => None,
    }
}

/// The bytes of a field, with its name.
fn whole(field: &Field) -> Range<usize> {
    field.at.start..field.value.span.end
}

/// The items of a list in a field.
fn items<'n>(node: &'n Rc<Node>, name: &str) -> impl Iterator<Item = &'n Rc<Node>> {
    node.get(name).into_iter().flat_map(|list| list.items())
}

/// A name of a service as all systems would write it: `payment` for `payments.default.svc.cluster.local`, `paymentService` and
/// `payment-api`. `None` for one that says nothing.
fn service(name: &str) -> Option<String> {
    let label = name.split('.').next().unwrap_or(name);
    let mut plain: String = label.chars().filter(|sign| sign.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    for end in ENDS {
        if let Some(stem) = plain.strip_suffix(end) {
            plain.truncate(stem.len());
        }
    }
    let stem = plain.strip_suffix('s').unwrap_or(&plain);
    (stem.len() > 2 && !["default", "shared", "com", "org", "google"].contains(&stem)).then(|| stem.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_one_service_are_one() {
        for name in [
            "payments",
            "payments.default.svc.cluster.local",
            "paymentService",
            "payment-api",
            "Payments",
            "payment_client",
        ] {
            assert_eq!(service(name).as_deref(), Some("payment"), "{name}");
        }
        for name in ["default", "a", "service", "*", ""] {
            assert_eq!(service(name), None, "{name}");
        }
    }
}
