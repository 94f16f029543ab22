"""Tables of model servers and models."""

from providers.models.aliases import EndpointAlias
from providers.models.llms import Model
from providers.models.resource import Resource
from providers.models.servers import ModelServer

__all__ = ["EndpointAlias", "Model", "ModelServer", "Resource"]
