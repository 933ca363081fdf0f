//! The systems whose files are read, by their names.

use holdoff_core::{Form, LintKind};

/// True if files are read that are neither JSON nor YAML, and the retries of jobs and queues.
pub(crate) const CONFIGURATIONS: bool = cfg!(feature = "configurations");

/// A system whose files are read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum System {
    /// One whose form the core has.
    Core(Form),
    Envoy,
    KubernetesJob,
    ArgoWorkflows,
    Lambda,
    Sqs,
    Haproxy,
    Nginx,
    AwsConfig,
}

impl From<Form> for System {
    fn from(form: Form) -> Self {
        Self::Core(form)
    }
}

impl System {
    /// The systems that the core does not have.
    const OWN: [Self; 8] = [
        Self::Envoy,
        Self::KubernetesJob,
        Self::ArgoWorkflows,
        Self::Lambda,
        Self::Sqs,
        Self::Haproxy,
        Self::Nginx,
        Self::AwsConfig,
    ];

    pub(crate) fn all() -> impl Iterator<Item = Self> {
        Form::ALL.into_iter().map(Self::Core).chain(Self::OWN)
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Core(form) => form.name(),
            Self::Envoy => "envoy",
            Self::KubernetesJob => "kubernetes-job",
            Self::ArgoWorkflows => "argo-workflows",
            Self::Lambda => "lambda",
            Self::Sqs => "sqs",
            Self::Haproxy => "haproxy",
            Self::Nginx => "nginx",
            Self::AwsConfig => "aws-config",
        }
    }

    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::all().find(|system| system.name() == name)
    }

    /// False if no setting of the system can mend what a lint is about, so that nobody could follow its advice.
    pub(crate) fn can_mend(self, lint: LintKind) -> bool {
        let is_even = matches!(
            self,
            Self::KubernetesJob
                | Self::ArgoWorkflows
                | Self::Lambda
                | Self::Sqs
                | Self::Haproxy
                | Self::Nginx
                | Self::Core(Form::GatewayApi)
        );
        let has_no_budget = matches!(self, Self::Haproxy | Self::Nginx);
        match lint {
            LintKind::NoJitter => !is_even,
            LintKind::MeshWithoutBudget => !has_no_budget,
            _ => true,
        }
    }
}
